package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// redisLock keeps the record of an election in Redis as an API server keeps it
// in a Lease: each update is made only if nobody has made one since the record
// was read, for which the record has a version before it. It has no time to
// live: who follows decides by its own clock when a leader is gone.
type redisLock struct {
	client  *redis.Client
	key, id string
	seen    []byte // what was read or written last
	renewed func() // called after each update that names this candidate
}

var _ resourcelock.Interface = (*redisLock)(nil)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// Get reads the record. As LeaseLock does, it gives the record's own JSON for
// comparison, in which times are whole seconds.
func (l *redisLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	content, err := l.client.Get(ctx, l.key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil, apierrors.NewNotFound(leases, l.key)
	} else if err != nil {
		return nil, nil, err
	}
	_, text, _ := bytes.Cut(content, []byte(" "))
	var record resourcelock.LeaderElectionRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return nil, nil, err
	}
	l.seen = content
	return &record, text, nil
}

// Create makes the record unless there is one.
func (l *redisLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.replace(ctx, nil, 1, record)
}

// Update replaces the record that was seen last.
func (l *redisLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	before, _, _ := bytes.Cut(l.seen, []byte(" "))
	version, err := strconv.Atoi(string(before))
	if err != nil {
		return errors.New("the record was not read yet")
	}
	return l.replace(ctx, l.seen, version+1, record)
}

// replace sets the record if it still is what it was, nil if there was none.
func (l *redisLock) replace(ctx context.Context, was []byte, version int, record resourcelock.LeaderElectionRecord) error {
	content, err := versioned(version, record)
	if err != nil {
		return err
	}
	conflict := apierrors.NewConflict(leases, l.key, errors.New("somebody else has updated it"))
	err = l.client.Watch(ctx, func(tx *redis.Tx) error {
		is, err := tx.Get(ctx, l.key).Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		} else if !bytes.Equal(is, was) {
			return conflict
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, l.key, content, 0).Err() })
		return err
	}, l.key)
	if errors.Is(err, redis.TxFailedErr) {
		return conflict
	} else if err != nil {
		return err
	}
	l.seen = content
	if record.HolderIdentity == l.id {
		l.renewed()
	}
	return nil
}

func versioned(version int, record resourcelock.LeaderElectionRecord) ([]byte, error) {
	text, err := json.Marshal(record)
	return append(strconv.AppendInt(nil, int64(version), 10), append([]byte(" "), text...)...), err
}

// RecordEvent does nothing: there is nobody to see events.
func (l *redisLock) RecordEvent(string) {}

// Identity is that of this candidate.
func (l *redisLock) Identity() string { return l.id }

// Describe names the record.
func (l *redisLock) Describe() string { return l.key }

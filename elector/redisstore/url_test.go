package redisstore

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Every part of a URL arrives where it belongs.
func TestParseURL(t *testing.T) {
	for text, want := range map[string]redis.UniversalOptions{
		"redis://localhost":                     {Addrs: []string{"localhost:6379"}},
		"redis://localhost:7/":                  {Addrs: []string{"localhost:7"}},
		"redis://:p%40ss@h:7/3":                 {Addrs: []string{"h:7"}, Password: "p@ss", DB: 3},
		"redis://al%3Aice:p%2Fss@[::1]:7":       {Addrs: []string{"[::1]:7"}, Username: "al:ice", Password: "p/ss"},
		"unix:///run/redis.sock?db=2":           {Addrs: []string{"/run/redis.sock"}, DB: 2},
		"unix://u:p@/run/redis.sock":            {Addrs: []string{"/run/redis.sock"}, Username: "u", Password: "p"},
		"redis://a:1?addr=b:2&addr=c:3":         {Addrs: []string{"a:1", "b:2", "c:3"}},
		"redis://a?cluster=true":                {Addrs: []string{"a:6379"}, IsClusterMode: true},
		"redis://a:26379?master=m&addr=b:26379": {Addrs: []string{"a:26379", "b:26379"}, MasterName: "m"},
		"redis://u:p@a:1?master=m&sentinel_password=%40%3Fs%2B%26": {
			Addrs: []string{"a:1"}, MasterName: "m", Username: "u", Password: "p", SentinelPassword: "@?s+&"},
		"redis://a:1?sentinel_username=al%20ice&sentinel_password=s&master=m": {
			Addrs: []string{"a:1"}, MasterName: "m", SentinelUsername: "al ice", SentinelPassword: "s"},
		"redis://a?dial_timeout=1s&read_timeout=500ms&write_timeout=2s": {
			Addrs: []string{"a:6379"}, DialTimeout: time.Second, ReadTimeout: 500 * time.Millisecond, WriteTimeout: 2 * time.Second},
	} {
		got, err := ParseURL(text)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s gave %+v, %v; want %+v", text, got, err, want)
		}
	}
	o, err := ParseURL("rediss://h/1?skip_verify=true")
	if err != nil || o.TLSConfig == nil || !o.TLSConfig.InsecureSkipVerify || o.DB != 1 {
		t.Errorf("rediss gave %+v, %v", o, err)
	}
	if o, err := ParseURL("rediss://h"); err != nil || o.TLSConfig == nil || o.TLSConfig.InsecureSkipVerify {
		t.Errorf("rediss gave %+v, %v", o, err)
	}
}

// Whatever is wrong with a URL, the error says what to do and no part of the
// password, even where an unescaped character of it tears the URL apart.
func TestParseURLErrors(t *testing.T) {
	for _, text := range []string{
		"", "localhost:6379", "http://h", "redis:h", "redis://", "redis:///0", "redis://h/x", "redis://h/-1", "redis://h/0/1", "redis://h/99999999999",
		"redis://u@h", "redis://u:@h", "redis://h:port", "redis://h?pool=3", "redis://h?cluster=maybe", "redis://h?addr=x", "redis://h?dial_timeout=5",
		"unix://", "unix:///", "unix://h/run/x", "redis://h#x", "redis://h#", "redis://h?a=%zz", "redis://u:%zz@h", "redis://h\n",
		"redis://u:12/SECRET@h:7", "redis://u:SECRET/x@h:7", "redis://u:12#SECRET@h", "redis://u:12?SECRET@h", "redis://u:12?SECRET=1@h",
		"redis://h?sentinel_password=SECRET", "redis://h?master=m&sentinel_username=SECRET", "redis://h?master=m&sentinel_password=SEC@RET",
		"redis://h?master=m&sentinel_password=SECRET%", "redis://h?master=m&sentinel_password=12&SECRET", "redis://h?master=m&sentinel_password=12?SECRET&x",
		"redis://u:SECRET%@h", "redis://u:SEC RET@h", "redis://SECRET@h", "redis://u:12/3?SECRET", "redis://u:[SECRET@h", "SECRET", "redis://u:12/3#SECRET@h",
	} {
		o, err := ParseURL(text)
		if err == nil {
			t.Errorf("%q gave %+v", text, o)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "RET") {
			t.Errorf("%q: the error tells it: %v", text, err)
		}
		if !strings.HasPrefix(err.Error(), "redisstore: the Redis URL") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A port that no address can have is refused as such, in the host and in further
// addresses; what an unescaped password leaves in the port's place is not.
func TestParseURLPorts(t *testing.T) {
	const invalid = "invalid port: give a port from 1 to 65535"
	for text, refused := range map[string]bool{
		"redis://h:99999": true, "redis://h:65536/1": true, "rediss://h:0": true, "redis://[::1]:70000": true, "redis://h?addr=i:99999&master=m": true, "redis://h?addr=i:": true,
		"redis://h:65535": false, "redis://h:1": false, "redis://h:": false, "redis://h?addr=i:1": false, "unix:///run/redis:99999": false,
		"redis://u:99999/x@h": false, "redis://u:99999?x@h": false, "redis://u:99999#x@h": false,
	} {
		_, err := ParseURL(text)
		if got := err != nil && strings.Contains(err.Error(), invalid); got != refused {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseURL: no URL makes it panic, and no password is in an error.
func FuzzParseURL(f *testing.F) {
	f.Add("redis://u:", "@h:7/3")
	f.Add("rediss://", "@h?addr=b:2")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "QXZQ"
		if _, err := ParseURL(before + password + after); err != nil && strings.Contains(err.Error(), password) {
			t.Fatalf("%v", err)
		}
	})
}

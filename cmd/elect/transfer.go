package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
)

// wish is what POST /transfer is sent, and what it answers.
type wish struct {
	To    string `json:"to"`
	Error string `json:"error,omitempty"`
}

// answerTransfer hands the leadership over, and answers when the job has ended
// and the successor leads. It wants JSON, and says so by its type, because
// a page in somebody's browser cannot send that to an address of another site. A page can
// make its own site's name mean this address: see ours.
func (c *candidacy) answerTransfer(w http.ResponseWriter, r *http.Request) {
	if !c.ours(r) {
		http.Error(w, "ask by the address of --http or by localhost, and not from a page in a browser", http.StatusForbidden)
		return
	}
	if r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "send JSON, as application/json", http.StatusUnsupportedMediaType)
		return
	}
	var to wish
	if err := json.NewDecoder(io.LimitReader(r.Body, 1000)).Decode(&to); err != nil || to.To == "" {
		http.Error(w, `send {"to":"ID"}`, http.StatusBadRequest)
		return
	}
	limit := c.timing.drain + 3*c.timing.lease // a successor that hears of nothing needs one of them
	// The server's own limit is for slow clients, and this one waits for a slow job.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit + replyTime)); err != nil {
		http.Error(w, "elect: "+err.Error(), http.StatusInternalServerError)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	c.log.Info("asked to hand over", "to", to.To, "by", r.RemoteAddr)
	err := c.elector.Transfer(ctx, to.To)
	code := http.StatusOK
	if err != nil {
		to.Error, code = err.Error(), http.StatusBadGateway
		if errors.Is(err, elector.ErrNotLeading) || errors.Is(err, elector.ErrNoCandidate) {
			code = http.StatusConflict
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(to) // who does not read the answer needs none
}

// ours reports whether a request names this server and does not come from a page in a
// browser, which sends Origin with every POST. An address names a server, and so do
// localhost and the host of --http. A server for other machines has names that it does not
// know.
func (c *candidacy) ours(r *http.Request) bool {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || c.public || strings.EqualFold(host, "localhost") || c.host != "" && strings.EqualFold(host, c.host)
}

func (m Main) transferCommand() *cobra.Command {
	var (
		to, at  string
		timeout time.Duration
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Hand the leadership over to a named candidate",
		Long: `transfer asks the elect that leads, over the address of its --http, to end its
job and to hand the leadership over to the candidate that is named; elect status
lists them. The lease is kept until the job has ended, and then reserved for that
candidate for a moment. Only the leader can hand over, and it does so only if it
was started with --allow-transfer.`,
		Example: "  elect transfer --at http://127.0.0.1:8080 --to host-b",
		Args:    usage.NoArguments,
	}
	cmd.Flags().StringVar(&to, "to", "", "ID of the candidate, or the part of it before its last slash")
	cmd.Flags().StringVar(&at, "at", "", "address of the leader's elect, such as http://127.0.0.1:8080")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long the leader's job may take to end")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		u, err := url.Parse(at)
		switch {
		case to == "":
			return usage.Of(errors.New("no candidate is named: give --to ID; elect status lists them"))
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return usage.Of(errors.New("--at does not say where the leader's elect serves; write --at http://HOST:PORT, with the address of its --http"))
		case timeout <= 0:
			return usage.Of(fmt.Errorf("--timeout is %v; it must be above zero, such as 1m", timeout))
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		answer, err := post(ctx, u.JoinPath("transfer").String(), wish{To: to})
		if err != nil {
			return unlessStopped(cmd.Context(), err)
		}
		if asJSON {
			return printJSON(m.Stdout, answer)
		}
		_, err = fmt.Fprintf(m.Stdout, "the lease was handed over: %s leads\n", answer.To)
		return err
	}
	return cmd
}

func post(ctx context.Context, address string, to wish) (wish, error) {
	body, err := json.Marshal(to)
	if err != nil {
		return wish{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return wish{}, usage.Of(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
	if err != nil {
		return wish{}, fmt.Errorf("the leader's elect gave no answer: %w; check --at, and that it runs with --http", err)
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(io.LimitReader(reply.Body, 10_000))
	if err != nil {
		return wish{}, err
	}
	var answer wish
	err = json.Unmarshal(content, &answer)
	switch {
	case reply.StatusCode == http.StatusNotFound || reply.StatusCode == http.StatusMethodNotAllowed:
		return wish{}, usage.Of(errors.New("the elect there does not let others hand over: start it with --allow-transfer"))
	case reply.StatusCode == http.StatusConflict:
		return wish{}, usage.Of(fmt.Errorf("%s; elect status tells who leads and who competes", answer.Error))
	case err == nil && answer.Error != "":
		return wish{}, errors.New(answer.Error)
	case err != nil || reply.StatusCode != http.StatusOK:
		return wish{}, fmt.Errorf("the leader's elect answers %s: %s", reply.Status, strings.TrimSpace(string(content)))
	}
	return answer, nil
}

package docker

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// A network that overlaps with somebody's is made at the next place, and so on to the
// end of the pool; any other trouble ends the search.
func TestSettle(t *testing.T) {
	p := places{pool: netip.MustParsePrefix("10.7.0.0/24")}
	p.next = netip.PrefixFrom(p.pool.Addr(), networkBits)
	var tried []string
	err := p.settle(t.Context(), nil, func(subnet netip.Prefix) error {
		if tried = append(tried, subnet.String()); len(tried) < 3 {
			return errors.New("invalid pool request: Pool overlaps with other one on this address space")
		}
		return nil
	})
	if want := []string{"10.7.0.0/26", "10.7.0.64/26", "10.7.0.128/26"}; err != nil || !slices.Equal(tried, want) {
		t.Errorf("tried %v, %v, want %v", tried, err, want)
	}
	broken := errors.New("broken")
	err = p.settle(t.Context(), nil, func(subnet netip.Prefix) error {
		tried = append(tried, subnet.String())
		return broken
	})
	if !errors.Is(err, broken) || len(tried) != 4 {
		t.Errorf("%v after %v", err, tried)
	}
	if next := after(netip.MustParsePrefix("10.7.255.192/26")); next.String() != "10.8.0.0" {
		t.Errorf("after the last place of a pool comes %v", next)
	}
}

// Everybody in a network has an address of his own; one that is given back is the next
// one's, and a network that is full says so.
func TestReserve(t *testing.T) {
	n := &Network{Name: "n", subnet: netip.MustParsePrefix("10.7.0.64/29"), Gateway: netip.MustParseAddr("10.7.0.65"), taken: map[netip.Addr]bool{}}
	n.taken[n.Gateway] = true
	var all []string
	for {
		a, err := n.Reserve()
		if err != nil {
			break
		}
		all = append(all, a.String())
	}
	if want := []string{"10.7.0.66", "10.7.0.67", "10.7.0.68", "10.7.0.69", "10.7.0.70"}; !slices.Equal(all, want) {
		t.Errorf("reserved %v, want %v", all, want)
	}
	n.Release(netip.MustParseAddr("10.7.0.68"))
	if a, err := n.Reserve(); err != nil || a.String() != "10.7.0.68" {
		t.Errorf("reserved %v, %v", a, err)
	}
}

// The image of a program has all that it takes to run it: whatever was compiled here
// is in it with its loader and libraries, or needs none.
func TestPack(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{self, "/bin/sh"} {
		libraries, err := loads(t.Context(), path)
		if err != nil {
			t.Skipf("no program of Linux's: %v", err)
		}
		if path == "/bin/sh" && len(libraries) < 2 {
			t.Errorf("%s loads only %v", path, libraries)
		}
		read, write := io.Pipe()
		go func() { write.CloseWithError(pack(write, path, libraries)) }()
		var names []string
		for files := tar.NewReader(read); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, "/"+h.Name)
		}
		if want := slices.Concat([]string{program}, libraries, []string{"/tmp/"}); !slices.Equal(names, want) {
			t.Errorf("packed %v, want %v", names, want)
		}
	}
	if _, err := loads(context.Background(), "docker_test.go"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a text was taken for a program: %v", err)
	}
}

// Package etcd runs etcd's server inside this process.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// Config contains etcd's data directory and its ports on the loopback address.
type Config struct {
	Dir        string
	ClientPort int
	PeerPort   int
}

// Endpoint is the URL for clients.
func (c Config) Endpoint() string {
	u := loopback(c.ClientPort)
	return u.String()
}

// Start starts etcd and returns when it is ready. Close stops it.
func Start(ctx context.Context, c Config) (*embed.Etcd, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e, err := embed.StartEtcd(settings(c))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.Err():
	case <-e.Server.StopNotify():
		err = errors.New("stopped during the start")
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return nil, fmt.Errorf("etcd: %w", err)
}

func settings(c Config) *embed.Config {
	client, peer := loopback(c.ClientPort), loopback(c.PeerPort)
	s := embed.NewConfig()
	s.Dir = c.Dir
	s.ListenClientUrls, s.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	s.ListenPeerUrls, s.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	s.InitialCluster = s.InitialClusterFromName(s.Name)
	s.LogLevel = "fatal" // real errors are returned; its error log includes an empty data directory
	// A sandbox's data need not survive a power failure, and syncing is the most expensive operation here.
	s.UnsafeNoFsync = true
	// The only member waits for an election timeout before it becomes leader. The default of one second would be
	// most of the start. With a short timeout, a busy machine logs irrelevant warnings about late heartbeats.
	s.TickMs, s.ElectionMs = 20, 100
	return s
}

func loopback(port int) url.URL {
	return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

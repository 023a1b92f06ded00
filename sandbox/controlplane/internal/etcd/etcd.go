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

// Config says where an etcd keeps its data and which ports of the loopback address it takes.
type Config struct {
	Dir        string
	ClientPort int
	PeerPort   int
}

// Endpoint is the URL at which clients reach it.
func (c Config) Endpoint() string {
	u := loopback(c.ClientPort)
	return u.String()
}

// Start runs etcd and returns when it serves. The result's Close ends it.
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
		err = errors.New("stopped while starting")
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
	s.LogLevel = "fatal" // what matters is returned; what it calls errors includes an empty data directory
	// A sandbox's data need not survive a power cut, and syncing costs more than all else here.
	s.UnsafeNoFsync = true
	// The only member waits for an election timeout before it leads: the default second would be most
	// of the start. Shorter, a busy machine logs warnings of late heartbeats that nobody listens to.
	s.TickMs, s.ElectionMs = 20, 100
	return s
}

func loopback(port int) url.URL {
	return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

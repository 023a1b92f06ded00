// Command sandbox-apiserver is the control plane of a sandbox in one process: an API server put together
// from the published Kubernetes libraries, its etcd, and the collector. It listens on three ports of
// 127.0.0.1 and nowhere else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/grpclog"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"edgetenants.io/sandbox/controlplane/internal/apiserver"
	"edgetenants.io/sandbox/controlplane/internal/collector"
	"edgetenants.io/sandbox/controlplane/internal/etcd"
	"edgetenants.io/sandbox/controlplane/internal/openapi"
)

// stopWithin ends the process even where a library waits for a client that does not go.
const stopWithin = 4 * time.Second

type flags struct {
	dir      string
	port     int
	etcdPort int
	peerPort int
	auditLog string
}

func main() {
	f := parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		time.Sleep(stopWithin)
		klog.ErrorS(nil, "Not stopped in time, leaving")
		os.Exit(1)
	}()
	if err := run(ctx, f, func() { fmt.Println("ready") }); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-apiserver:", err)
		os.Exit(1)
	}
}

func parse() flags {
	var f flags
	flag.StringVar(&f.dir, "dir", "", "directory with pki/{ca.crt,apiserver.crt,apiserver.key}; etcd's data goes to etcd/ in it")
	flag.IntVar(&f.port, "port", 0, "port of 127.0.0.1 to serve the API on")
	flag.IntVar(&f.etcdPort, "etcd-port", 0, "port of 127.0.0.1 for etcd's clients")
	flag.IntVar(&f.peerPort, "etcd-peer-port", 0, "port of 127.0.0.1 for etcd's peers, of which there are none")
	flag.StringVar(&f.auditLog, "audit-log", "", "file to append audit events to, as JSON lines (default: no audit)")
	klog.InitFlags(nil)
	flag.Parse()
	if err := f.check(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-apiserver:", err)
		flag.Usage()
		os.Exit(2)
	}
	return f
}

func (f flags) check() error {
	if f.dir == "" {
		return errors.New("--dir is required")
	}
	if f.port == 0 || f.etcdPort == 0 || f.peerPort == 0 {
		return errors.New("--port, --etcd-port and --etcd-peer-port are required")
	}
	return nil
}

// run serves until the context ends; announce is called when clients may come.
func run(ctx context.Context, f flags, announce func()) error {
	started := time.Now()
	// Each storage dials etcd once more only to ask for its features, and gRPC logs the hanging up.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, os.Stderr))
	store := etcd.Config{Dir: filepath.Join(f.dir, "etcd"), ClientPort: f.etcdPort, PeerPort: f.peerPort}
	db, err := etcd.Start(ctx, store)
	if err != nil {
		return err
	}
	defer db.Close()
	server, err := apiserver.New(apiserver.Config{
		Dir: f.dir, Port: f.port, EtcdEndpoint: store.Endpoint(), AuditLog: f.auditLog, OpenAPI: openapi.GetOpenAPIDefinitions,
	})
	if err != nil {
		return err
	}
	return server.Run(ctx, func() {
		klog.InfoS("Serving", "after", time.Since(started))
		announce()
		go collect(ctx, server.LoopbackConfig())
	})
}

// collect runs the collector under a name of its own, so that the audit log tells its deeds from users'.
func collect(ctx context.Context, config *rest.Config) {
	config.Impersonate = rest.ImpersonationConfig{UserName: collector.User, Groups: []string{"system:masters"}}
	if err := collector.Run(ctx, config); err != nil {
		klog.ErrorS(err, "The collector stopped")
		os.Exit(1)
	}
}

// Command sandbox-apiserver is the control plane of a sandbox in one process: an API server assembled from the
// published Kubernetes libraries, its etcd, and the collector. It listens only on three ports of 127.0.0.1.
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

// stopWithin is the time after which the process exits even if a library waits for a client to disconnect.
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
		klog.ErrorS(nil, "Shutdown timed out, exiting")
		os.Exit(1)
	}()
	if err := run(ctx, f, func() { fmt.Println("ready") }); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-apiserver:", err)
		os.Exit(1)
	}
}

func parse() flags {
	var f flags
	flag.StringVar(&f.dir, "dir", "", "directory that contains pki/{ca.crt,apiserver.crt,apiserver.key}; etcd stores its data in etcd/ below it")
	flag.IntVar(&f.port, "port", 0, "port of 127.0.0.1 for the API")
	flag.IntVar(&f.etcdPort, "etcd-port", 0, "port of 127.0.0.1 for etcd's clients")
	flag.IntVar(&f.peerPort, "etcd-peer-port", 0, "port of 127.0.0.1 for etcd's peers (etcd requires it, but has no peers)")
	flag.StringVar(&f.auditLog, "audit-log", "", "append audit events as JSON lines to this file (default: no audit log)")
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

// run serves until the context ends, and calls announce when the server is ready for clients.
func run(ctx context.Context, f flags, announce func()) error {
	started := time.Now()
	// Each storage opens another connection to etcd to read its features, and gRPC logs when it closes.
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

// collect runs the collector as its own user, so that the audit log distinguishes its requests from users'.
func collect(ctx context.Context, config *rest.Config) {
	config.Impersonate = rest.ImpersonationConfig{UserName: collector.User, Groups: []string{"system:masters"}}
	if err := collector.Run(ctx, config); err != nil {
		klog.ErrorS(err, "The collector failed")
		os.Exit(1)
	}
}

// Command sandbox-collector runs the sandbox's collector as a separate process, for control planes without a
// garbage collector: a kube-apiserver without kube-controller-manager.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"edgetenants.io/sandbox/controlplane/internal/collector"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the API server, for a user with all permissions")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-collector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	if kubeconfig == "" {
		return fmt.Errorf("--kubeconfig is required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = collector.User
	fmt.Println("ready")
	return collector.Run(ctx, config)
}

// Command sandbox-collector is the sandbox's collector as a process of its own, for control planes that
// have none: a kube-apiserver without kube-controller-manager.
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
	kubeconfig := flag.String("kubeconfig", "", "file that says how to reach the API server, as a user who may do everything")
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

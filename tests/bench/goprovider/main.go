// A no-op provider on crossplane-runtime: the rival in the benchmark of edgetenants_runtime.
//
// Run as: goprovider KUBECONFIG WORKERS. Its external resources exist as soon as Create was called and are always up to date. Settings are those of a
// provider made from provider-template, with higher limits of the API server's client, so that these do not affect the result.
package main

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/scheme"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

var version = schema.GroupVersion{Group: "bench.example.org", Version: "v1alpha1"}

// outside is the external system: the names that exist.
type outside struct{ names sync.Map }

func (o *outside) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if _, exists := o.names.Load(mg.GetUID()); !exists {
		return managed.ExternalObservation{}, nil
	}
	mg.SetConditions(xpv2.Available())
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

func (o *outside) Create(_ context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	o.names.Store(mg.GetUID(), true)
	return managed.ExternalCreation{}, nil
}

func (o *outside) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (o *outside) Delete(_ context.Context, mg resource.Managed) (managed.ExternalDelete, error) {
	o.names.Delete(mg.GetUID())
	return managed.ExternalDelete{}, nil
}

func (o *outside) Disconnect(context.Context) error { return nil }

func (o *outside) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return o, nil
}

func main() {
	ctrl.SetLogger(logr.Discard())
	workers, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], workers)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func run(kubeconfig string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 5000, 10000
	kinds := runtime.NewScheme()
	builder := &scheme.Builder{GroupVersion: version}
	builder.Register(&Noop{}, &NoopList{})
	if err := builder.AddToScheme(kinds); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kinds, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	of := version.WithKind("Noop")
	reconciler := managed.NewReconciler(mgr, resource.ManagedKind(of),
		managed.WithExternalConnector(&outside{}),
		managed.WithPollInterval(time.Hour),
		managed.WithManagementPolicies(),
		managed.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor("managed/noop"))),
	)
	options := controller.Options{MaxConcurrentReconciles: workers}
	err = ctrl.NewControllerManagedBy(mgr).WithOptions(options).For(&Noop{}).
		WithEventFilter(resource.DesiredStateChanged()).Complete(reconciler)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

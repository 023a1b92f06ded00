package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"edgetenants.io/sandbox/controlplane/internal/rbac"
)

// schemaBeta is the old version of CRDs. The library registers it, but serves none of its kinds.
var schemaBeta = schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: "v1beta1"}

// shutdownTimeout limits the wait for running requests, because watches never end on their own.
const shutdownTimeout = 300 * time.Millisecond

// Server is an API server that is ready to run.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	client  kubernetes.Interface
}

// New creates a server. It does not listen before Run.
func New(c Config) (*Server, error) {
	p, err := newParts(c)
	if err != nil {
		return nil, err
	}
	extensions, err := p.newExtensions()
	if err != nil {
		return nil, err
	}
	server := extensions.GenericAPIServer
	server.ShutdownTimeout = shutdownTimeout
	if err := p.install(server); err != nil {
		return nil, err
	}
	if err := listGroups(extensions); err != nil {
		return nil, err
	}
	server.AddPostStartHookOrDie("start-informers", func(hook genericapiserver.PostStartHookContext) error {
		p.informers.Start(hook.Done())
		return nil
	})
	return &Server{server, p.client}, nil
}

func (p *parts) newExtensions() (*apiextensions.CustomResourceDefinitions, error) {
	completed := p.extensions().Complete()
	// The library expects the server that usually contains it to serve discovery.
	completed.GenericConfig.EnableDiscovery = true
	return completed.New(genericapiserver.NewEmptyDelegate())
}

func listGroups(extensions *apiextensions.CustomResourceDefinitions) error {
	crds := extensions.Informers.Apiextensions().V1().CustomResourceDefinitions()
	list := &groupList{crds: crds.Lister(), target: extensions.GenericAPIServer.DiscoveryGroupManager}
	_, err := crds.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: list.update, UpdateFunc: func(_, crd any) { list.update(crd) }, DeleteFunc: list.update,
	})
	return err
}

// LoopbackConfig is the configuration of clients in this process, which are in system:masters.
func (s *Server) LoopbackConfig() *rest.Config {
	return rest.CopyConfig(s.generic.LoopbackClientConfig)
}

// Run serves until the context ends, and calls ready when the default objects of a cluster exist.
func (s *Server) Run(ctx context.Context, ready func()) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		err := s.bootstrap(ctx)
		switch {
		case ctx.Err() != nil: // stopped during the start
		case err != nil:
			stop(fmt.Errorf("%w: %w", errBootstrap, err))
		default:
			ready()
		}
	}()
	if err := s.generic.PrepareRun().RunWithContext(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errBootstrap) {
		return cause
	}
	return nil
}

var errBootstrap = errors.New("cannot create the default namespaces and roles")

// bootstrap waits for the server and creates the default namespaces and roles of a cluster.
func (s *Server) bootstrap(ctx context.Context) error {
	if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, s.serving); err != nil {
		return err
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := s.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return rbac.Bootstrap(ctx, s.client)
}

func (s *Server) serving(ctx context.Context) (bool, error) {
	_, err := s.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil, nil
}

// Package collector does what kube-controller-manager's garbage collector and namespace controller do:
// the background and foreground cascade by ownerReferences, the orphan finalizer, and the content of
// deleted namespaces. Crossplane depends on all of them: core removes an XR's finalizer and leaves the
// composed resources to the cascade.
//
// Informers feed a graph of owners and dependents; each change says which few objects to look at. What
// is looked at is decided anew from the graph and, before anything is deleted, from the API server:
//
//	deleting + orphan finalizer      let the dependents go, then drop the finalizer
//	deleting + foreground finalizer  drop it when no dependent blocks any more
//	deleting namespace               delete what is in it, then finalize it
//	not deleting, with owners        delete it when no owner is left
package collector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// User is the name under which the collector's requests stand in the audit log.
const User = "system:sandbox-collector"

// Errors are retried after 20 ms, doubling up to 5 s; workers are as many as keep one API server busy.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 5 * time.Second
	workers    = 8
)

// settle is left between the deletion of an owner and the orphaning of its dependents: the newest of
// them come by other watches, and one that is missed would be deleted instead.
const settle = 150 * time.Millisecond

// resources is the part of the discovery client that the collector asks.
type resources interface {
	ServerPreferredResources() ([]*metav1.APIResourceList, error)
}

// Collector collects until its context ends.
type Collector struct {
	metadata   metadata.Interface
	namespaces kubernetes.Interface
	resources  resources
	graph      *graph
	kinds      *catalog
	queue      workqueue.TypedRateLimitingInterface[types.UID]
	waiting    *waitingRoom
	informers  map[schema.GroupVersionResource]context.CancelFunc
	changed    chan struct{} // a CRD changed: other kinds may be served now
}

// Run collects on one API server until the context ends. The user of the configuration must be allowed
// everything.
func Run(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // bounded by the workers
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	New(meta, client, client.Discovery()).Run(ctx)
	return nil
}

// New makes a collector over clients.
func New(meta metadata.Interface, namespaces kubernetes.Interface, resources discovery.ServerResourcesInterface) *Collector {
	return newCollector(meta, namespaces, resources)
}

func newCollector(meta metadata.Interface, namespaces kubernetes.Interface, served resources) *Collector {
	return &Collector{
		metadata: meta, namespaces: namespaces, resources: served,
		graph: newGraph(), kinds: newCatalog(), waiting: newWaitingRoom(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](retryFirst, retryMost)),
		informers: map[schema.GroupVersionResource]context.CancelFunc{},
		changed:   make(chan struct{}, 1),
	}
}

// Run collects until the context ends.
func (c *Collector) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	c.refresh(ctx) // an owner must have had the chance to be seen before anything is called ownerless
	for range workers {
		go c.work(ctx)
	}
	c.followKinds(ctx)
}

func (c *Collector) work(ctx context.Context) {
	for {
		uid, stopped := c.queue.Get()
		if stopped {
			return
		}
		c.attempt(ctx, uid)
		c.queue.Done(uid)
	}
}

func (c *Collector) attempt(ctx context.Context, uid types.UID) {
	again, err := c.look(ctx, uid)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		klog.V(2).InfoS("Retrying", "uid", uid, "err", err)
		c.queue.AddRateLimited(uid)
	case again:
		c.queue.AddRateLimited(uid)
	default:
		c.queue.Forget(uid)
	}
}

// look decides about one object and acts. It returns true where the object must be looked at again
// though no event will tell.
func (c *Collector) look(ctx context.Context, uid types.UID) (again bool, err error) {
	o := c.graph.get(uid)
	switch {
	case o == nil:
		return false, nil
	case o.deleting && o.orphaning:
		return false, c.orphan(ctx, o)
	case o.awaitsDependents():
		return false, c.release(ctx, o)
	case o.deleting && o.isNamespace():
		return c.empty(ctx, o)
	case !o.deleting && len(o.owners) > 0:
		return false, c.judge(ctx, o)
	}
	return false, nil
}

func (c *Collector) wake(uids []types.UID) {
	for _, uid := range uids {
		if o := c.graph.get(uid); o != nil && o.deleting && o.orphaning {
			c.queue.AddAfter(uid, settle)
		} else {
			c.queue.Add(uid)
		}
	}
}

// Package collector implements kube-controller-manager's garbage collector and namespace controller: background
// and foreground cascading deletion by ownerReferences, the orphan finalizer, and the content of deleted
// namespaces. Crossplane depends on all of them: core removes an XR's finalizer and relies on the cascade to
// delete the composed resources.
//
// Informers feed a graph of owners and dependents. Each change determines the few objects to process, with the
// graph and, before a deletion, with the API server:
//
//	deleting + orphan finalizer      orphan the dependents, then remove the finalizer
//	deleting + foreground finalizer  remove it when no dependent blocks the deletion
//	deleting namespace               delete its content, then finalize it
//	not deleting, with owners        delete it if no owner exists
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

// User is the collector's user name in the audit log.
const User = "system:sandbox-collector"

// Errors are retried after 20 ms, doubling up to 5 s. The number of workers keeps one API server busy.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 5 * time.Second
	workers    = 8
)

// settle is the delay between the deletion of an owner and the orphaning of its dependents. New dependents arrive
// through other watches, and a missed one would be deleted instead.
const settle = 150 * time.Millisecond

// resources is the part of the discovery client that the collector uses.
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

// Run collects on one API server until the context ends. The user of the configuration needs all permissions.
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

// New creates a collector with these clients.
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
	c.refresh(ctx) // read all owners before any object is considered ownerless
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

// look processes one object. It returns true if the object must be processed again without an event.
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

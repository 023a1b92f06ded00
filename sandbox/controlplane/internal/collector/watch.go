package collector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// After a change of a CRD, the collector runs discovery immediately and a few more times, because discovery
// follows a CRD with a delay. Otherwise it runs discovery periodically, for API services.
const (
	askEvery     = 10 * time.Second
	askSoon      = 50 * time.Millisecond
	askAgain     = 250 * time.Millisecond
	askAgainFor  = 3 * time.Second
	syncPatience = 5 * time.Second
)

// followKinds keeps one informer for each served resource until the context ends.
func (c *Collector) followKinds(ctx context.Context) {
	next := time.NewTimer(askAgain)
	defer next.Stop()
	busyUntil := time.Now().Add(askAgainFor)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
			busyUntil = time.Now().Add(askAgainFor)
			next.Reset(askSoon)
		case <-next.C:
			c.refresh(ctx)
			if time.Now().Before(busyUntil) {
				next.Reset(askAgain)
			} else {
				next.Reset(askEvery)
			}
		}
	}
}

// refresh runs discovery, starts and stops informers accordingly, and waits until new ones have synced.
func (c *Collector) refresh(ctx context.Context) {
	lists, err := c.resources.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		klog.V(2).InfoS("Discovery failed", "err", err)
		return
	}
	served := c.kinds.replace(lists, err == nil)
	changed := c.stopInformers(served)
	started := c.startInformers(ctx, served)
	if changed || len(started) > 0 {
		patience, done := context.WithTimeout(ctx, syncPatience)
		defer done()
		cache.WaitForCacheSync(patience.Done(), started...)
		c.wake(c.waiting.leave())
	}
}

func (c *Collector) startInformers(ctx context.Context, served map[schema.GroupVersionResource]bool) []cache.InformerSynced {
	var started []cache.InformerSynced
	for gvr := range served {
		if _, running := c.informers[gvr]; running {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		c.informers[gvr] = stop
		c.graph.watch(gvr)
		started = append(started, c.start(ctx, gvr))
	}
	return started
}

// stopInformers stops the watches of resources that are no longer served, and returns whether there were any.
func (c *Collector) stopInformers(served map[schema.GroupVersionResource]bool) bool {
	stopped := false
	for gvr, stop := range c.informers {
		if !served[gvr] {
			stop()
			delete(c.informers, gvr)
			c.wake(c.graph.forget(gvr))
			stopped = true
		}
	}
	return stopped
}

func (c *Collector) start(ctx context.Context, gvr schema.GroupVersionResource) cache.InformerSynced {
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	// Neither call fails for an informer that has not started.
	_ = informer.SetTransform(trim)
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		klog.V(2).InfoS("Watch ended", "resource", gvr, "err", err)
	})
	registration, err := informer.AddEventHandler(c.handler(gvr))
	if err != nil {
		klog.ErrorS(err, "Cannot watch", "resource", gvr)
		return func() bool { return true }
	}
	go informer.RunWithContext(ctx)
	return registration.HasSynced
}

func (c *Collector) handler(gvr schema.GroupVersionResource) cache.ResourceEventHandler {
	seen := func(obj any) {
		if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
			c.wake(c.graph.set(newObject(gvr, m)))
		}
		c.noticeKinds(gvr)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			if unseen, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unseen.Obj
			}
			if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
				c.wake(c.graph.remove(gvr, m.UID))
			}
			c.noticeKinds(gvr)
		},
	}
}

func (c *Collector) noticeKinds(gvr schema.GroupVersionResource) {
	if gvr.Resource != "customresourcedefinitions" {
		return
	}
	select {
	case c.changed <- struct{}{}:
	default: // already noticed
	}
}

// trim removes the fields that the collector does not need, to save memory.
func trim(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.ManagedFields, m.Annotations, m.Labels = nil, nil, nil
	}
	return obj, nil
}

package webhooks

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestResolveEndpoint(t *testing.T) {
	cases := map[string]struct {
		annotations map[string]string
		want        string
		refused     string
	}{
		"annotated":    {annotations: map[string]string{PortAnnotation: "9443"}, want: "https://127.0.0.1:9443"},
		"without":      {refused: "has no annotation sandbox.edgetenants.io/loopback-port"},
		"a name":       {annotations: map[string]string{PortAnnotation: "https"}, refused: `is "https", not a port`},
		"zero":         {annotations: map[string]string{PortAnnotation: "0"}, refused: "not a port"},
		"too high":     {annotations: map[string]string{PortAnnotation: "65536"}, refused: "not a port"},
		"another host": {annotations: map[string]string{PortAnnotation: "443@example.org"}, refused: "not a port"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hook", Annotations: c.annotations}}
			if err := store.Add(service); err != nil {
				t.Fatal(err)
			}
			got, err := LoopbackServices{corelisters.NewServiceLister(store)}.ResolveEndpoint("shop", "hook", 443)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want one with %q", err, c.refused)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("%v, %v; want %s", got, err, c.want)
			}
		})
	}
	if _, err := (LoopbackServices{corelisters.NewServiceLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))}).ResolveEndpoint("shop", "hook", 443); err == nil {
		t.Error("a Service that does not exist was resolved")
	}
}

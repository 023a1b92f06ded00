// Package webhooks leads admission and conversion webhooks to processes on this machine.
package webhooks

import (
	"fmt"
	"net"
	"net/url"
	"strconv"

	corelisters "k8s.io/client-go/listers/core/v1"
)

// PortAnnotation names, on a Service, the loopback port of the process that stands for the Service's
// pods. Packages may only carry webhooks that name a Service, and here are no pods behind any.
const PortAnnotation = "sandbox.edgetenants.io/loopback-port"

// LoopbackServices resolves a Service to the loopback port that its annotation names. The serving
// certificate is still checked against <name>.<namespace>.svc, as in a cluster.
type LoopbackServices struct{ Services corelisters.ServiceLister }

// ResolveEndpoint implements the service resolver of the webhook clients. The Service's own port is of
// no matter: one Service stands for one process.
func (s LoopbackServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	service, err := s.Services.Services(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	text, ok := service.Annotations[PortAnnotation]
	if !ok {
		return nil, fmt.Errorf("service %s/%s has no annotation %s", namespace, name, PortAnnotation)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("service %s/%s: annotation %s is %q, not a port", namespace, name, PortAnnotation, text)
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort("127.0.0.1", text)}, nil
}

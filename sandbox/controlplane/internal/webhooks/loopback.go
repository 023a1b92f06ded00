// Package webhooks routes admission and conversion webhooks to processes on this machine.
package webhooks

import (
	"fmt"
	"net"
	"net/url"
	"strconv"

	corelisters "k8s.io/client-go/listers/core/v1"
)

// PortAnnotation is the annotation of a Service with the loopback port of the process that replaces its pods.
// Webhooks in packages must refer to a Service, and there are no pods in a sandbox.
const PortAnnotation = "sandbox.edgetenants.io/loopback-port"

// LoopbackServices resolves a Service to the loopback port in its annotation. The serving certificate is still
// verified for <name>.<namespace>.svc, as in a cluster.
type LoopbackServices struct{ Services corelisters.ServiceLister }

// ResolveEndpoint implements the service resolver of the webhook clients. The port of the Service is ignored,
// because one Service corresponds to one process.
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

// Package apiserver assembles a Kubernetes API server from the published libraries: the generic server of
// k8s.io/apiextensions-apiserver, with the built-in kinds installed, too. So discovery, OpenAPI, admission,
// server-side apply and audit cover built-in and custom kinds.
package apiserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	openapi "k8s.io/kube-openapi/pkg/common"

	"edgetenants.io/sandbox/controlplane/internal/audit"
	"edgetenants.io/sandbox/controlplane/internal/kinds"
	"edgetenants.io/sandbox/controlplane/internal/rbac"
	"edgetenants.io/sandbox/controlplane/internal/webhooks"
)

// Config is the configuration of a sandbox's API server.
type Config struct {
	// Dir contains pki/ca.crt, whose client certificates are users, and pki/apiserver.crt and .key.
	Dir string
	// Port of 127.0.0.1 to serve on.
	Port int
	// EtcdEndpoint is the URL of the storage.
	EtcdEndpoint string
	// AuditLog is the file to which audit events are appended; empty means no audit log.
	AuditLog string
	// OpenAPI contains the definitions of the built-in kinds. Server-side apply requires them.
	OpenAPI openapi.GetOpenAPIDefinitions
}

// The version for clients: that of the libraries.
const kubernetesMinor, emulatedBefore = "1.35", "1.34"

// parts are the components for the groups and hooks of the server.
type parts struct {
	config     *genericapiserver.RecommendedConfig
	etcd       *genericoptions.EtcdOptions
	scheme     *runtime.Scheme
	client     kubernetes.Interface
	informers  informers.SharedInformerFactory
	authorizer *rbac.Authorizer
	services   webhooks.LoopbackServices
	wrapper    webhook.AuthenticationInfoResolverWrapper
}

func newParts(c Config) (*parts, error) {
	p := &parts{
		config: genericapiserver.NewRecommendedConfig(apiextensions.Codecs),
		etcd:   etcdOptions(c),
		scheme: kinds.NewScheme(),
	}
	p.config.EffectiveVersion = basecompatibility.NewEffectiveVersionFromString(kubernetesMinor, kubernetesMinor, emulatedBefore)
	p.config.MergedResourceConfig = apiextensions.DefaultAPIResourceConfigSource()
	p.config.MergedResourceConfig.DisableVersions(schemaBeta)
	// With the match policy Equivalent, a rule for core events also covers those of events.k8s.io.
	p.config.EquivalentResourceRegistry = runtime.NewEquivalentResourceRegistryWithIdentity(func(r schema.GroupResource) string {
		return kinds.Stored(r).String()
	})
	p.describe(c.OpenAPI)
	for _, step := range []func(Config) error{p.serve, p.authenticate, p.audit, p.store, p.connect, p.admit} {
		if err := step(c); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func etcdOptions(c Config) *genericoptions.EtcdOptions {
	options := genericoptions.NewRecommendedOptions("/registry", apiextensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)).Etcd
	options.StorageConfig.Transport.ServerList = []string{c.EtcdEndpoint}
	return options
}

// describe configures the OpenAPI documents, whose names must cover the types of both schemes.
func (p *parts) describe(definitions openapi.GetOpenAPIDefinitions) {
	namer := openapinamer.NewDefinitionNamer(apiextensions.Scheme, p.scheme)
	p.config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	p.config.OpenAPIConfig.Info.Title = "edgetenants sandbox"
	p.config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	p.config.OpenAPIV3Config.Info.Title = "edgetenants sandbox"
}

func (p *parts) serve(c Config) error {
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.BindAddress = net.IPv4(127, 0, 0, 1)
	serving.BindPort = c.Port
	serving.ServerCert.CertKey.CertFile = filepath.Join(c.Dir, "pki", "apiserver.crt")
	serving.ServerCert.CertKey.KeyFile = filepath.Join(c.Dir, "pki", "apiserver.key")
	for _, file := range []string{serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("serving certificate: %w", err)
		}
	}
	return serving.ApplyTo(&p.config.SecureServing, &p.config.LoopbackClientConfig)
}

func (p *parts) authenticate(c Config) error {
	authenticator, ca, err := newAuthenticator(filepath.Join(c.Dir, "pki", "ca.crt"))
	if err != nil {
		return err
	}
	p.config.Authentication.Authenticator = authenticator
	p.config.SecureServing.ClientCA = ca
	return nil
}

func (p *parts) audit(c Config) error {
	if c.AuditLog == "" {
		return nil
	}
	return audit.Apply(&p.config.Config, c.AuditLog)
}

func (p *parts) store(Config) error { return p.etcd.ApplyTo(&p.config.Config) }

// connect creates the clients of the server's own components. They have no rate limit, because their work is
// bounded and their delays affect every user.
func (p *parts) connect(Config) (err error) {
	config := rest.CopyConfig(p.config.LoopbackClientConfig)
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	p.informers = informers.NewSharedInformerFactory(p.client, 10*time.Minute)
	p.config.SharedInformerFactory = p.informers
	p.authorizer = rbac.New(p.informers)
	p.config.Authorization.Authorizer = p.authorizer
	p.config.RuleResolver = p.authorizer
	p.services = webhooks.LoopbackServices{Services: p.informers.Core().V1().Services().Lister()}
	return nil
}

// admit sets up the libraries' admission chain (namespace lifecycle, webhooks, policies), followed by the guard
// against escalation.
func (p *parts) admit(Config) error {
	dynamicClient, err := dynamic.NewForConfig(p.config.LoopbackClientConfig)
	if err != nil {
		return err
	}
	p.wrapper = webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, p.config.LoopbackClientConfig, noopoteltrace.NewTracerProvider())
	err = genericoptions.NewAdmissionOptions().ApplyTo(&p.config.Config, p.informers, p.client, dynamicClient,
		utilfeature.DefaultFeatureGate, p.config.EffectiveVersion, webhookinit.NewPluginInitializer(p.wrapper, p.services))
	if err != nil {
		return err
	}
	p.config.AdmissionControl = admission.NewChainHandler(p.config.AdmissionControl, rbac.NewEscalationGuard(p.authorizer))
	return nil
}

func (p *parts) extensions() *apiextensions.Config {
	return &apiextensions.Config{
		GenericConfig: p.config,
		ExtraConfig: apiextensions.ExtraConfig{
			CRDRESTOptionsGetter: apiextensionsoptions.NewCRDRESTOptionsGetter(*p.etcd, p.config.ResourceTransformers, p.config.StorageObjectCountTracker),
			ServiceResolver:      p.services,
			AuthResolverWrapper:  p.wrapper,
			MasterCount:          1,
		},
	}
}

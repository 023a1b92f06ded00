package apiserver

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"edgetenants.io/sandbox/controlplane/internal/kinds"
	"edgetenants.io/sandbox/controlplane/internal/rbac"
)

// install adds the built-in kinds and the reviews to the server of the custom resources.
func (p *parts) install(server *genericapiserver.GenericAPIServer) error {
	options := p.storageOptions()
	var named []*genericapiserver.APIGroupInfo
	for _, g := range kinds.Groups() {
		storage, err := kinds.Storage(p.scheme, g, options)
		if err != nil {
			return err
		}
		info := p.group(g.Version, storage)
		if g.Version.Group != "" {
			named = append(named, info)
			continue
		}
		if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, info); err != nil {
			return err
		}
	}
	named = append(named,
		p.group(authorizationv1.SchemeGroupVersion, rbac.AccessReviews(p.authorizer)),
		p.group(authenticationv1.SchemeGroupVersion, rbac.IdentityReviews()))
	return server.InstallAPIGroups(named...)
}

func (p *parts) group(version schema.GroupVersion, storage map[string]rest.Storage) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(version.Group, p.scheme, metav1.ParameterCodec, kinds.Codecs(p.scheme))
	info.VersionedResourcesStorageMap[version.Version] = storage
	return &info
}

// storageOptions store the built-in kinds in their served version; an Event of events.k8s.io is a core Event there.
func (p *parts) storageOptions() generic.RESTOptionsGetter {
	var versions []schema.GroupVersion
	for _, g := range kinds.Groups() {
		versions = append(versions, g.Version)
	}
	etcd := *p.etcd
	etcd.StorageConfig.Codec = kinds.Codecs(p.scheme).LegacyCodec(versions...)
	return etcd.CreateRESTOptionsGetter(&genericoptions.SimpleStorageFactory{StorageConfig: etcd.StorageConfig}, nil)
}

module github.com/google/go-containerregistry/pkg/authn/k8schain

go 1.26.0

require (
	github.com/google/go-containerregistry v0.21.6
	github.com/google/go-containerregistry/pkg/authn/kubernetes v0.0.0-20250225234217-098045d5e61f
	k8s.io/client-go v0.35.7
)

// Package k8schain takes the place of go-containerregistry's package of that name, in the sandbox's Crossplane
// core. It has no credential helpers for the registries of AWS, Azure and Google, which need 120 packages. The
// sandbox pulls nothing from them. Image pull Secrets and Docker's own configuration work.
package k8schain

import (
	"context"

	"github.com/google/go-containerregistry/pkg/authn"
	kauth "github.com/google/go-containerregistry/pkg/authn/kubernetes"
	"k8s.io/client-go/kubernetes"
)

// Options selects the ServiceAccount and the image pull Secrets.
type Options = kauth.Options

// New returns the keychain of these options, and then Docker's.
func New(ctx context.Context, client kubernetes.Interface, opt Options) (authn.Keychain, error) {
	k8s, err := kauth.New(ctx, client, opt)
	if err != nil {
		return nil, err
	}
	return authn.NewMultiKeychain(k8s, authn.DefaultKeychain), nil
}

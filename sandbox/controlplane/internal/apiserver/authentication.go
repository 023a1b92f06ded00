package apiserver

import (
	cryptox509 "crypto/x509"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// newAuthenticator authenticates users with client certificates of one CA: the common name is the user, the
// organizations are the groups. Without a certificate, only health checks are allowed.
func newAuthenticator(caFile string) (authenticator.Request, dynamiccertificates.CAContentProvider, error) {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", caFile)
	if err != nil {
		return nil, nil, err
	}
	certificates := x509.NewDynamic(ca.VerifyOptions, x509.UserConversionFunc(userOf))
	known := group.NewAuthenticatedGroupAdder(union.New(certificates))
	return union.NewFailOnError(known, anonymous.NewAuthenticator(healthPaths())), ca, nil
}

func healthPaths() []apiserver.AnonymousAuthCondition {
	return []apiserver.AnonymousAuthCondition{{Path: "/livez"}, {Path: "/readyz"}, {Path: "/healthz"}}
}

// userOf adds the groups of a ServiceAccount's token: here, a ServiceAccount is a client certificate with its
// user name, and bindings to those groups must apply to it, too.
func userOf(chain []*cryptox509.Certificate) (*authenticator.Response, bool, error) {
	response, ok, err := x509.CommonNameUserConversion.User(chain)
	if err != nil || !ok {
		return response, ok, err
	}
	namespace, name, err := serviceaccount.SplitUsername(response.User.GetName())
	if err != nil {
		return response, true, nil // an ordinary user
	}
	response.User = &user.DefaultInfo{
		Name:   serviceaccount.MakeUsername(namespace, name),
		Groups: append(serviceaccount.MakeGroupNames(namespace), response.User.GetGroups()...),
		Extra:  response.User.GetExtra(),
	}
	return response, true, nil
}

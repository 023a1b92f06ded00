// Package openapi contains the OpenAPI definitions of the built-in kinds, for server-side apply and
// `kubectl explain`.
//
// The 24,000 generated lines are not checked in. sandbox/build.py generates them in its cache and overlays
// this package with them (go build -overlay). To use plain go commands, run go generate here.
package openapi

//go:generate go tool openapi-gen --output-dir . --output-pkg edgetenants.io/sandbox/controlplane/internal/openapi --output-file zz_generated.openapi.go --go-header-file /dev/null --report-filename /dev/null k8s.io/api/admissionregistration/v1 k8s.io/api/apps/v1 k8s.io/api/authentication/v1 k8s.io/api/authorization/v1 k8s.io/api/coordination/v1 k8s.io/api/core/v1 k8s.io/api/events/v1 k8s.io/api/rbac/v1 k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/version

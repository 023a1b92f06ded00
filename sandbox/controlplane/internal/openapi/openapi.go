// Package openapi contains the OpenAPI definitions of the built-in kinds, for server-side apply and
// `kubectl explain`.
//
// They are stored as openapi-gen generates them, but as JSON: to generate and compile 24,000 lines of Go takes
// longer than most other steps of the build. `make generate` writes definitions.json, and
// `make test-controlplane` compares it with what openapi-gen generates.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

//go:embed definitions.json
var stored []byte

// Definition is one definition as it is stored. Its references name other definitions, after Prefix.
type Definition struct {
	Schema       spec.Schema `json:"schema"`
	Dependencies []string    `json:"dependencies,omitempty"`
}

// Prefix precedes the name of a definition in a stored reference.
const Prefix = "#/definitions/"

// GetOpenAPIDefinitions returns the definitions by name, with references that ref makes.
func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	var file struct {
		Definitions map[string]Definition `json:"definitions"`
	}
	if err := json.Unmarshal(stored, &file); err != nil {
		panic(fmt.Sprintf("definitions.json: %v", err))
	}
	definitions := make(map[string]common.OpenAPIDefinition, len(file.Definitions))
	for name, d := range file.Definitions {
		refer(&d.Schema, ref)
		definition := common.OpenAPIDefinition{Schema: d.Schema, Dependencies: d.Dependencies}
		if old, isOld := d.Schema.Extensions[common.ExtensionV2Schema]; isOld {
			definition.Schema.Extensions[common.ExtensionV2Schema] = schemaOf(name, old)
		}
		definitions[name] = definition
	}
	return definitions
}

// schemaOf returns the schema for OpenAPI v2, which JSON has as an object.
func schemaOf(name string, object any) spec.Schema {
	var schema spec.Schema
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil {
		panic(fmt.Sprintf("definitions.json: %s: %v", name, err))
	}
	return schema
}

// refer replaces the references in a schema.
func refer(s *spec.Schema, ref common.ReferenceCallback) {
	if s == nil {
		return
	}
	if name, isRef := strings.CutPrefix(s.Ref.String(), Prefix); isRef {
		s.Ref = ref(name)
	}
	for name, property := range s.Properties {
		refer(&property, ref)
		s.Properties[name] = property
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			refer(&list[i], ref)
		}
	}
	refer(s.Not, ref)
	if s.Items != nil {
		refer(s.Items.Schema, ref)
	}
	if s.AdditionalProperties != nil {
		refer(s.AdditionalProperties.Schema, ref)
	}
}

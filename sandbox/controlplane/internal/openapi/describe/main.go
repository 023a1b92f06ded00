//go:build describe

// Command describe writes the definitions that openapi-gen has generated as JSON, to standard output. With the
// argument `check`, it compares them with those that the API server reads from definitions.json.
//
// sandbox/build.py overlays the package `generated` with these definitions.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"edgetenants.io/sandbox/controlplane/internal/openapi"
	"edgetenants.io/sandbox/controlplane/internal/openapi/generated"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ref := func(name string) spec.Ref { return spec.MustCreateRef(openapi.Prefix + name) }
	definitions := map[string]openapi.Definition{}
	for name, d := range generated.GetOpenAPIDefinitions(ref) {
		definitions[name] = openapi.Definition{Schema: d.Schema, Dependencies: d.Dependencies}
	}
	if len(args) > 0 && args[0] == "check" {
		return compare(definitions)
	}
	return json.NewEncoder(os.Stdout).Encode(definitions)
}

// compare reads definitions.json as the API server does, so that an error of the reader is found, too. The
// references have another form here, which the reader must have made.
func compare(definitions map[string]openapi.Definition) error {
	const other = "#/components/schemas/"
	ref := func(name string) spec.Ref { return spec.MustCreateRef(other + name) }
	read := openapi.GetOpenAPIDefinitions(ref)
	if len(read) != len(definitions) {
		return fmt.Errorf("definitions.json has %d definitions, openapi-gen generates %d", len(read), len(definitions))
	}
	for name, d := range generated.GetOpenAPIDefinitions(ref) {
		wanted, err := json.Marshal(openapi.Definition{Schema: d.Schema, Dependencies: d.Dependencies})
		if err != nil {
			return err
		}
		got, err := json.Marshal(openapi.Definition{Schema: read[name].Schema, Dependencies: read[name].Dependencies})
		if err != nil {
			return err
		}
		if string(got) != string(wanted) {
			return fmt.Errorf("definitions.json differs in %s:\n%s\nopenapi-gen generates\n%s", name, got, wanted)
		}
		for extension, value := range d.Schema.Extensions {
			if has := fmt.Sprintf("%T", read[name].Schema.Extensions[extension]); has != fmt.Sprintf("%T", value) {
				return fmt.Errorf("definitions.json: %s: %s is a %s instead of a %T", name, extension, has, value)
			}
		}
	}
	return nil
}

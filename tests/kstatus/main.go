// Command kstatus reads one Kubernetes object as JSON and prints its status as kstatus computes it, with the
// message: what Flux, kpt and cli-utils wait for.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	object := &unstructured.Unstructured{}
	if err := json.NewDecoder(os.Stdin).Decode(object); err != nil {
		fail(err)
	}
	computed, err := status.Compute(object)
	if err != nil {
		fail(err)
	}
	fmt.Printf("%s: %s\n", computed.Status, computed.Message)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

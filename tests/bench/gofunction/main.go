// The function in Go on Crossplane's SDK, in the style of its documentation: the rival in the benchmark `rotation`.
//
// Run as: gofunction CERTIFICATES ADDRESS. For the claims of that benchmark, it does the same as our function and
// returns the same responses: it parses and checks plans and claim, composes a tenant for each domain, and sets
// status, conditions and events. It does not support what those claims never use: changes of isolation,
// connection groups, certificates and records of plans, suspended claims.
package main

import (
	"os"

	"github.com/crossplane/function-sdk-go"
)

func main() {
	if err := function.Serve(&Function{},
		function.Listen("tcp", os.Args[2]),
		function.MTLSCertificates(os.Args[1]),
		function.MaxRecvMessageSize(32<<20),
		function.WithMetricsServer(""),
	); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// The function in Go on Crossplane's SDK, as its documentation teaches: the rival of the bench `rotation`.
//
// Run as: gofunction CERTIFICATES ADDRESS. It does what ours does for the claims of that bench, and gives the
// same answers: plans and claim are read and checked, each domain gets a tenant, and status, conditions and
// events tell of them. What those claims never ask for it does not know: changes of isolation, connection
// groups, certificates and records of plans, suspended claims.
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

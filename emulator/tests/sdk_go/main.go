// Command sdk-go leads a distribution and its tenants through their whole life by AWS's SDK for Go: every
// operation of CloudFront that the emulator has, and those of ACM, Route 53 and STS that belong to it. Each step
// compares what it reads with what it sent. It prints each bad step, and ends with 1 if there was any.
//
//	go run . http://127.0.0.1:4599
//
// The emulator's clock should run fast (--rate 600): deployments are waited for.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
)

// account is one that no other test has.
const account = "333344445555"

var ctx = context.Background()

// life is what the steps know of each other.
type life struct {
	*run
	config        aws.Config
	cloudfront    *cloudfront.Client
	acm           *acm.Client
	route53       *route53.Client
	sts           *sts.Client
	certificate   string // of example.com and all names below it
	zone          string // of example.net
	list          string // Anycast IPs
	group         *cloudfront.CreateConnectionGroupOutput
	distribution  string
	second        string
	tenant        *cloudfront.CreateDistributionTenantOutput
	etag          *string // the tenant's
	managedTenant string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sdk-go URL")
		os.Exit(2)
	}
	steps := &run{told: map[string]bool{}, wire: wire{client: http.Client{Timeout: patience}}}
	config := aws.Config{
		Region:           "us-east-1",
		BaseEndpoint:     &os.Args[1],
		Credentials:      credentials.NewStaticCredentialsProvider(account, "any", ""),
		HTTPClient:       &steps.wire,
		RetryMaxAttempts: 1,
		APIOptions:       []func(*middleware.Stack) error{steps.loseNothing},
	}
	l := &life{
		run:        steps,
		config:     config,
		cloudfront: cloudfront.NewFromConfig(config),
		acm:        acm.NewFromConfig(config),
		route53:    route53.NewFromConfig(config),
		sts:        sts.NewFromConfig(config),
	}
	l.identities()
	l.certificates()
	l.zones()
	l.anycastLists()
	l.connectionGroups()
	l.distributions()
	l.tenants()
	l.webACLs()
	l.tags()
	l.invalidations()
	l.managedCertificate()
	l.domains()
	l.lists()
	l.rest()
	l.ends()
	fmt.Printf("%d steps, %d bad\n", steps.steps, steps.bad)
	if steps.bad > 0 {
		os.Exit(1)
	}
}

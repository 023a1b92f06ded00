// Command sandbox-registry serves an OCI registry on a loopback port, with its blobs in a folder.
//
// The sandbox pushes edgetenants' packages to it, and Crossplane's package manager pulls them from there. Manifests are
// in memory: they end with the process.
package main

import (
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	port := flag.Int("port", 0, "port of 127.0.0.1 to listen on")
	blobs := flag.String("blobs", "", "folder for the blobs")
	flag.Parse()
	if *port == 0 || *blobs == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*port, *blobs); err != nil {
		log.Fatal(err)
	}
}

func serve(port int, blobs string) error {
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return err
	}
	server := &http.Server{
		Addr:              net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Handler:           registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs))),
		ReadHeaderTimeout: 10 * time.Second,
	}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

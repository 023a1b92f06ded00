// Package generated is empty in the sources. sandbox/build.py overlays it with the 24,000 lines that openapi-gen
// generates, to write or compare definitions.json.
package generated

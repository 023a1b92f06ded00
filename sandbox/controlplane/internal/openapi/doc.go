package openapi

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const (
	// patience is how long anything may take that the emulator does by itself.
	patience = 30 * time.Second
	// pause lies between two looks at it.
	pause = 50 * time.Millisecond
)

// run counts the steps and says which were bad.
type run struct {
	name       string
	steps, bad int
	told       map[string]bool
	wire       wire
}

// step does one thing; whatever goes wrong in it is told under its name.
func (r *run) step(name string, do func()) {
	r.steps++
	r.name = name
	defer func() {
		if problem := recover(); problem != nil {
			r.fail("%v", problem)
		}
	}()
	do()
}

func (r *run) fail(format string, args ...any) {
	r.bad++
	// What is polled is bad each time.
	line := fmt.Sprintf("BAD %s: %s", r.name, fmt.Sprintf(format, args...))
	if !r.told[line] {
		r.told[line] = true
		fmt.Println(line)
	}
}

// ok ends the step where a call is refused.
func ok[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// refused checks that a call ends with the SDK's own type E for an error, with a message and a request id.
func refused[E smithy.APIError](r *run) func(any, error) {
	return func(_ any, err error) {
		var typed E
		if !errors.As(err, &typed) {
			r.fail("the error is no %T: %v", typed, err)
			return
		}
		var response *awshttp.ResponseError
		if typed.ErrorMessage() == "" || !errors.As(err, &response) || response.ServiceRequestID() == "" {
			r.fail("%T lacks its message or its request id: %v", typed, err)
		}
	}
}

// same checks that two things are equal in every member.
func (r *run) same(what string, got, want any) {
	if !reflect.DeepEqual(plain(got), plain(want)) {
		r.fail("%s is %s, not %s", what, text(got), text(want))
	}
}

// holds checks that what was read has everything that was sent; AWS adds what it fills in.
func (r *run) holds(got, want any) {
	for _, problem := range missing("", plain(got), plain(want)) {
		r.fail("%s", problem)
	}
}

// until waits for what the emulator does by itself.
func (r *run) until(what string, done func() bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		if done() {
			return
		}
	}
	panic(fmt.Sprintf("%s: not within %s", what, patience))
}

func missing(path string, got, want any) []string {
	switch wanted := want.(type) {
	case nil:
		return nil
	case map[string]any:
		found, _ := got.(map[string]any)
		var problems []string
		for name, each := range wanted {
			problems = append(problems, missing(path+"."+name, found[name], each)...)
		}
		return problems
	case []any:
		found, _ := got.([]any)
		if len(found) != len(wanted) {
			return []string{fmt.Sprintf("%s has %s, not %s", path, text(got), text(want))}
		}
		var problems []string
		for i, each := range wanted {
			problems = append(problems, missing(fmt.Sprintf("%s[%d]", path, i), found[i], each)...)
		}
		return problems
	case string:
		// An enum that was not given is empty.
		if wanted == "" {
			return nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		return []string{fmt.Sprintf("%s is %s, not %s", path, text(got), text(want))}
	}
	return nil
}

// plain is a value of the SDK's types as JSON has it.
func plain(value any) any {
	var found any
	if err := json.Unmarshal(ok(json.Marshal(value)), &found); err != nil {
		panic(err)
	}
	return found
}

func text(value any) string {
	return string(ok(json.Marshal(value)))
}

// wire looks at each answer twice, as XML and as what the SDK made of it: a text that the SDK did not find, since
// it stands in an element of another name, is lost without an error.
type wire struct {
	client http.Client
	body   []byte
}

func (w *wire) Do(request *http.Request) (*http.Response, error) {
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	w.body = nil
	read, err := io.ReadAll(response.Body)
	if strings.Contains(response.Header.Get("Content-Type"), "xml") {
		w.body = read
	}
	response.Body = io.NopCloser(bytes.NewReader(read))
	return response, err
}

func (r *run) loseNothing(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("LoseNothing", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if err == nil && r.wire.body != nil {
			found := map[string]int{}
			count(plain(out.Result), found)
			for _, leaf := range leaves(r.wire.body) {
				if found[leaf.text]--; found[leaf.text] < 0 {
					r.fail("%T lacks %q of <%s>", out.Result, leaf.text, leaf.name)
				}
			}
		}
		return out, metadata, err
	}), middleware.Before)
}

type leaf struct{ name, text string }

// leaves are the elements that hold a text and no other element.
func leaves(body []byte) []leaf {
	var found []leaf
	var name string
	var held bytes.Buffer
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if err != nil {
			return found
		}
		switch each := token.(type) {
		case xml.StartElement:
			name = each.Name.Local
			held.Reset()
		case xml.CharData:
			held.Write(each)
		case xml.EndElement:
			// The SDK has the request id in its metadata.
			if name == each.Name.Local && name != "RequestId" && held.Len() > 0 {
				found = append(found, leaf{name, canonical(held.String())})
			}
			name = ""
		}
	}
}

func count(value any, found map[string]int) {
	switch each := value.(type) {
	case map[string]any:
		for name, inside := range each {
			if name != "ResultMetadata" {
				count(inside, found)
			}
		}
	case []any:
		for _, inside := range each {
			count(inside, found)
		}
	case string:
		found[canonical(each)]++
	case nil:
	default:
		found[fmt.Sprint(each)]++
	}
}

// canonical writes a moment in one way; any other text is left as it is.
func canonical(text string) string {
	if moment, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return moment.UTC().Format(time.RFC3339Nano)
	}
	return text
}

// at is where a value lies, as the SDK wants what may be absent.
func at[T any](value T) *T { return &value }

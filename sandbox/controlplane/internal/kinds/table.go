package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// table prints objects the way `kubectl get` shows them.
type table struct{ columns []Column }

// newTable puts a kind's columns between NAME and AGE. Events have only their own columns.
func newTable(k Kind) table {
	if k.Resource == "events" {
		return table{k.Columns}
	}
	name := Column{Name: "Name", Cell: func(o runtime.Object) any { return o.(metav1.Object).GetName() }}
	columns := append([]Column{name}, k.Columns...)
	return table{append(columns, Column{Name: "Age", Cell: age})}
}

// ConvertToTable implements rest.TableConvertor.
func (t table) ConvertToTable(_ context.Context, obj runtime.Object, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	if opts, ok := options.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		out.ColumnDefinitions = t.definitions()
	}
	if !meta.IsListType(obj) {
		out.Rows = append(out.Rows, t.row(obj))
		out.ResourceVersion = obj.(metav1.Object).GetResourceVersion()
		return out, nil
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		out.ResourceVersion = list.GetResourceVersion()
		out.Continue = list.GetContinue()
		out.RemainingItemCount = list.GetRemainingItemCount()
	}
	return out, meta.EachListItem(obj, func(item runtime.Object) error {
		out.Rows = append(out.Rows, t.row(item))
		return nil
	})
}

func (t table) definitions() []metav1.TableColumnDefinition {
	definitions := make([]metav1.TableColumnDefinition, 0, len(t.columns))
	for _, c := range t.columns {
		d := metav1.TableColumnDefinition{Name: c.Name, Type: "string"}
		if c.Name == "Name" {
			d.Format = "name"
		}
		if c.Wide {
			d.Priority = 1
		}
		definitions = append(definitions, d)
	}
	return definitions
}

func (t table) row(obj runtime.Object) metav1.TableRow {
	row := metav1.TableRow{Object: runtime.RawExtension{Object: obj}}
	for _, c := range t.columns {
		row.Cells = append(row.Cells, c.Cell(obj))
	}
	return row
}

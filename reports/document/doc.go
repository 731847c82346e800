// Package document has what a report says as one value: sections of paragraphs, lists,
// tables and figures. It prints any document as a page of HTML, as Markdown, and as text
// for a terminal. The same document gives the same bytes.
package document

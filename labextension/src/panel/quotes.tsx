/** Quotes of selected text in the panel's prompt: a button beside the selection, and the insertion. */
import { createRoot } from 'react-dom/client';
import { HostProvider, type IHost } from '../views/host';
import { asQuote, QuoteButton } from '../views/controls/quoteButton';

/** Adds the button to the page; returns a function that removes it. */
export function addQuoteButton(
  host: IHost,
  onQuote: (text: string) => void
): () => void {
  const node = document.createElement('div');
  document.body.append(node);
  const root = createRoot(node);
  root.render(
    <HostProvider value={host}>
      <QuoteButton onQuote={onQuote} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    node.remove();
  };
}

/** Inserts a text as a quote at the caret of a field, so that the field's own undo removes it. */
export function insertQuote(field: HTMLTextAreaElement, text: string): void {
  const caret = field.selectionEnd;
  const textBefore = field.value.slice(0, caret);
  const lineBreaks =
    textBefore === '' || textBefore.endsWith('\n\n')
      ? ''
      : textBefore.endsWith('\n')
        ? '\n'
        : '\n\n';
  const quote = `${lineBreaks}${asQuote(text)}\n\n`;
  field.focus();
  field.setSelectionRange(caret, caret);
  // Deprecated, but the only way that undo knows of; where it does nothing, the text is set.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  if (!document.execCommand('insertText', false, quote)) {
    field.setRangeText(quote, caret, caret, 'end');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

/** Quotes of selected text in the panel's prompt: a button beside the selection, and what a command does. */
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
  const at = field.selectionEnd;
  const before = field.value.slice(0, at);
  const lead =
    before === '' || before.endsWith('\n\n')
      ? ''
      : before.endsWith('\n')
        ? '\n'
        : '\n\n';
  const words = `${lead}${asQuote(text)}\n\n`;
  field.focus();
  field.setSelectionRange(at, at);
  // Deprecated, but the only way that undo knows of; where it does nothing, the text is set.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  if (!document.execCommand('insertText', false, words)) {
    field.setRangeText(words, at, at, 'end');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

/** A button beside selected text of a transcript, which quotes it in the prompt. */
import { useEffect, useState } from 'react';
import { useHost } from '../host';

/** Where text can be quoted from: the panel's transcript, and the agent's answers in cells. */
const QUOTABLE = '.plm-Transcript, .plm-Segment';

/** Returns the selection, if all of it is in one transcript or answer. */
function quotableSelection(): { text: string; range: Range } | null {
  const selection = document.getSelection();
  if (selection === null || selection.rangeCount === 0) {
    return null;
  }
  const range = selection.getRangeAt(0);
  const { commonAncestorContainer: node } = range;
  const element = node instanceof Element ? node : node.parentElement;
  const text = selection.toString().trim();
  return text === '' || (element?.closest(QUOTABLE) ?? null) === null
    ? null
    : { text, range };
}

/** Returns the selected text; empty where none is selected that can be quoted. */
export function selectedText(): string {
  return quotableSelection()?.text ?? '';
}

/** Returns a text as a Markdown quote. */
export function asQuote(text: string): string {
  return text
    .trim()
    .split('\n')
    .map(line => `> ${line}`.trimEnd())
    .join('\n');
}

/** The space that the button takes, in CSS pixels. */
const HEIGHT_PX = 28;
const WIDTH_PX = 72;
const GAP_PX = 4;

/** Draws the button where a selection ends; nothing where none is. */
export function QuoteButton({ onQuote }: { onQuote: (text: string) => void }) {
  const { words } = useHost();
  const [place, setPlace] = useState<{ top: number; left: number } | null>(
    null
  );
  useEffect(() => {
    let isDragging = false;
    const updatePlace = () => {
      setPlace(isDragging ? null : placeOf(quotableSelection()?.range));
    };
    const onDown = () => {
      isDragging = true;
    };
    const onUp = () => {
      isDragging = false;
      updatePlace();
    };
    const listening = new AbortController();
    const { signal } = listening;
    const early = { capture: true, signal };
    document.addEventListener('selectionchange', updatePlace, { signal });
    document.addEventListener('scroll', updatePlace, {
      ...early,
      passive: true
    });
    document.addEventListener('pointerdown', onDown, early);
    document.addEventListener('pointerup', onUp, early);
    document.addEventListener('pointercancel', onUp, early);
    return () => {
      listening.abort();
    };
  }, []);
  return place === null ? null : (
    <button
      type="button"
      className="plm-Quote"
      style={place}
      title={words.__('Quote the selected text in your prompt')}
      // A press would end the selection, and hide the button before it is clicked.
      onPointerDown={event => {
        event.stopPropagation();
      }}
      onMouseDown={event => {
        event.preventDefault();
      }}
      onClick={() => {
        const text = selectedText();
        setPlace(null);
        if (text !== '') {
          onQuote(text);
        }
      }}
    >
      {words.__('Quote')}
    </button>
  );
}

/** Returns where the button stands: below the end of the selection, or above it at the end of the page. */
function placeOf(
  range: Range | undefined
): { top: number; left: number } | null {
  const last = [...(range?.getClientRects() ?? [])].at(-1);
  if (last === undefined || last.bottom < 0 || last.top > window.innerHeight) {
    return null;
  }
  const below = last.bottom + GAP_PX;
  const isLow = below + HEIGHT_PX > window.innerHeight;
  return {
    top: isLow ? Math.max(0, last.top - GAP_PX - HEIGHT_PX) : below,
    left: Math.max(0, Math.min(last.right, window.innerWidth - WIDTH_PX))
  };
}

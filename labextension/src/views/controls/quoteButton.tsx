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

/** Draws a button that quotes the selected text, where the selection ends; nothing where none is. */
export function QuoteButton({ onQuote }: { onQuote: (text: string) => void }) {
  const { words } = useHost();
  const [position, setPosition] = useState<{
    top: number;
    left: number;
  } | null>(null);
  useEffect(() => {
    let isDragging = false;
    const updatePosition = () => {
      setPosition(
        isDragging ? null : buttonPosition(quotableSelection()?.range)
      );
    };
    const onDown = () => {
      isDragging = true;
    };
    const onUp = () => {
      isDragging = false;
      updatePosition();
    };
    const listenerController = new AbortController();
    const { signal } = listenerController;
    const captureOptions = { capture: true, signal };
    document.addEventListener('selectionchange', updatePosition, { signal });
    document.addEventListener('scroll', updatePosition, {
      ...captureOptions,
      passive: true
    });
    document.addEventListener('pointerdown', onDown, captureOptions);
    document.addEventListener('pointerup', onUp, captureOptions);
    document.addEventListener('pointercancel', onUp, captureOptions);
    return () => {
      listenerController.abort();
    };
  }, []);
  return position === null ? null : (
    <button
      type="button"
      className="plm-Quote"
      style={position}
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
        setPosition(null);
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
function buttonPosition(
  range: Range | undefined
): { top: number; left: number } | null {
  const lastBox = [...(range?.getClientRects() ?? [])].at(-1);
  if (
    lastBox === undefined ||
    lastBox.bottom < 0 ||
    lastBox.top > window.innerHeight
  ) {
    return null;
  }
  const topBelow = lastBox.bottom + GAP_PX;
  const isLow = topBelow + HEIGHT_PX > window.innerHeight;
  return {
    top: isLow ? Math.max(0, lastBox.top - GAP_PX - HEIGHT_PX) : topBelow,
    left: Math.max(0, Math.min(lastBox.right, window.innerWidth - WIDTH_PX))
  };
}

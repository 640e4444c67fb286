/**
 * Whether the ends of the texts that a question is about were on the screen.
 *
 * A text that fits counts as seen. Of one that scrolls, or is taller than the window, its end must have been
 * visible: an element behind its last line is observed, which also counts what scrolls around the text.
 */
import { useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** Marks a text that a question is about. */
export const ASKED_TEXT = 'data-asked-text';
/** Marks the element behind the last line of such a text. */
export const TEXT_END = 'data-text-end';

const CARD = '.plm-Tool-card, .plm-UnattachedAsk, .plm-Question';

/** Returns whether all ends were seen, and a function that scrolls to the first that was not. */
export function useEndsSeen(
  elementRef: RefObject<HTMLElement | null>
): [boolean, () => void] {
  const [isSeen, setSeen] = useState(false);
  const watchRef = useRef<ReturnType<typeof watchEnds> | null>(null);
  useLayoutEffect(() => {
    const card = cardOf(elementRef.current);
    if (card === null) {
      return;
    }
    watchRef.current = watchEnds(card, setSeen);
    return watchRef.current.disconnect;
  }, [elementRef]);
  return [
    isSeen,
    () => {
      watchRef.current?.scrollToUnseen();
    }
  ];
}

/** Returns the outermost element of a question: its texts may be above it, in the card of its call. */
function cardOf(element: HTMLElement | null): HTMLElement | null {
  const ownCard = element?.closest<HTMLElement>(CARD) ?? null;
  return ownCard?.parentElement?.closest<HTMLElement>(CARD) ?? ownCard;
}

/** Watches the texts in a card, which may be drawn later, or grow. */
function watchEnds(card: HTMLElement, onChange: (areAllSeen: boolean) => void) {
  /** The length of each text when its end was seen. */
  const seenLengths = new WeakMap<Element, number>();
  const texts = () => [
    ...card.querySelectorAll<HTMLElement>(`[${ASKED_TEXT}]`)
  ];
  const isEndSeen = (text: HTMLElement) =>
    needsNoScroll(text) || seenLengths.get(text) === text.textContent.length;
  const reportEndsSeen = () => {
    onChange(texts().every(isEndSeen));
  };
  const markSeen = (text: HTMLElement) => {
    seenLengths.set(text, text.textContent.length);
    reportEndsSeen();
  };
  const endObserver =
    typeof IntersectionObserver === 'undefined'
      ? null
      : new IntersectionObserver(entries => {
          for (const { isIntersecting, target } of entries) {
            const text = target.closest<HTMLElement>(`[${ASKED_TEXT}]`);
            if (isIntersecting && text !== null) {
              markSeen(text);
            }
          }
        });
  const onScroll = ({ target }: Event) => {
    // Where nothing observes, the text's own position tells.
    if (
      endObserver === null &&
      target instanceof HTMLElement &&
      target.hasAttribute(ASKED_TEXT) &&
      target.scrollTop + target.clientHeight >= target.scrollHeight - 2
    ) {
      markSeen(target);
    }
  };
  const resizeObserver =
    typeof ResizeObserver === 'undefined'
      ? null
      : new ResizeObserver(reportEndsSeen);
  const observeTexts = () => {
    for (const text of texts()) {
      resizeObserver?.observe(text);
      const end = text.querySelector(`[${TEXT_END}]`);
      if (end !== null) {
        endObserver?.observe(end);
      }
    }
    reportEndsSeen();
  };
  const mutationObserver = new MutationObserver(observeTexts);
  mutationObserver.observe(card, {
    childList: true,
    subtree: true,
    characterData: true
  });
  card.addEventListener('scroll', onScroll, true);
  observeTexts();
  return {
    scrollToUnseen: () => {
      const text = texts().find(element => !isEndSeen(element));
      if (text !== undefined) {
        text.scrollTop = text.scrollHeight;
        text
          .querySelector(`[${TEXT_END}]`)
          ?.scrollIntoView({ block: 'nearest' });
        text.focus({ preventScroll: true });
      }
    },
    disconnect: () => {
      endObserver?.disconnect();
      resizeObserver?.disconnect();
      mutationObserver.disconnect();
      card.removeEventListener('scroll', onScroll, true);
    }
  };
}

/** Returns whether a text needs no scrolling; one that is not drawn has nothing to scroll. */
function needsNoScroll(text: HTMLElement): boolean {
  const { clientHeight, clientWidth, scrollHeight, scrollWidth } = text;
  return (
    scrollHeight <= clientHeight + 1 &&
    scrollWidth <= clientWidth + 1 &&
    clientHeight <= window.innerHeight
  );
}

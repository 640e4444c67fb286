/**
 * Keeps a long scroll container at its end while it grows and its content gets its height.
 *
 * For a short container with printed output see tailScroll.
 */
import { useCallback, useEffect, useRef, useState } from 'react';

/** Within this distance from the end, in pixels, the user is assumed to look at the newest content. */
const NEAR_PX = 40;

/** Milliseconds after a size change in which the browser may still move the content. */
const SETTLE_MS = 400;

/** Events of user scrolling, beside the wheel. */
const USER_EVENTS = ['keydown', 'pointerdown', 'touchmove'] as const;

/**
 * Returns the scroll container's ref, whether its end is in view, and functions that scroll there, and let go of it.
 *
 * It stays at its end unless the user scrolls up, or something else is scrolled to.
 */
export function useEndScroll() {
  const elementRef = useRef<HTMLDivElement>(null);
  const staysAtEnd = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  useEffect(() => {
    const node = elementRef.current;
    const content = node?.firstElementChild;
    if (node === null || !content) {
      return;
    }
    const sizeText = () => `${node.scrollHeight} ${node.clientHeight}`;
    let lastSizeText = sizeText();
    let resizedAtMs = 0;
    let userActedAtMs = 0;
    const onScroll = () => {
      const nowMs = performance.now();
      // During or just after a size change the browser scrolled, not the user.
      const isSettling =
        nowMs - resizedAtMs < SETTLE_MS && nowMs - userActedAtMs > SETTLE_MS;
      if (staysAtEnd.current && (isSettling || sizeText() !== lastSizeText)) {
        follow();
        return;
      }
      staysAtEnd.current = isNearEnd(node);
      setAtEnd(staysAtEnd.current);
    };
    const follow = () => {
      const newSizeText = sizeText();
      if (newSizeText !== lastSizeText) {
        lastSizeText = newSizeText;
        resizedAtMs = performance.now();
      }
      if (staysAtEnd.current) {
        node.scrollTop = node.scrollHeight;
      } else {
        setAtEnd(isNearEnd(node));
      }
    };
    const onAct = () => {
      userActedAtMs = performance.now();
    };
    const onWheel = ({ deltaY }: WheelEvent) => {
      onAct();
      if (deltaY < 0 && node.scrollTop > 0) {
        staysAtEnd.current = false;
      }
    };
    const resizeObserver =
      'ResizeObserver' in window ? new ResizeObserver(follow) : null;
    resizeObserver?.observe(content);
    resizeObserver?.observe(node);
    const listenerController = new AbortController();
    const options = { passive: true, signal: listenerController.signal };
    node.addEventListener('scroll', onScroll, options);
    node.addEventListener('wheel', onWheel, options);
    for (const eventName of USER_EVENTS) {
      node.addEventListener(eventName, onAct, options);
    }
    follow();
    return () => {
      resizeObserver?.disconnect();
      listenerController.abort();
    };
  }, []);
  const scrollToEnd = () => {
    staysAtEnd.current = true;
    elementRef.current?.scrollTo({ top: elementRef.current.scrollHeight });
    elementRef.current?.focus();
  };
  const leaveEnd = useCallback(() => {
    staysAtEnd.current = false;
    setAtEnd(elementRef.current === null || isNearEnd(elementRef.current));
  }, []);
  return {
    elementRef,
    isAtEnd,
    scrollToEnd,
    leaveEnd
  };
}

function isNearEnd(node: HTMLElement): boolean {
  return node.scrollHeight - node.scrollTop - node.clientHeight <= NEAR_PX;
}

/**
 * Keeps a long scroll container at its end while it grows and its content gets its height.
 *
 * For a short container with printed output see tailScroll.
 */
import { useCallback, useEffect, useRef, useState } from 'react';

/** Within this distance from the end, in pixels, the user is assumed to look at the newest content. */
const NEAR = 40;

/** Milliseconds after a size change in which the browser may still move the content. */
const SETTLE_MS = 400;

/** Events of user scrolling, beside the wheel. */
const ACTS = ['keydown', 'pointerdown', 'touchmove'] as const;

/**
 * Returns the scroll container's ref, whether its end is in view, and functions that scroll there, and let go of it.
 *
 * It stays at its end unless the user scrolls up, or something else is scrolled to.
 */
export function useEndScroll() {
  const place = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const [atEnd, setAtEnd] = useState(true);
  useEffect(() => {
    const node = place.current;
    const grows = node?.firstElementChild;
    if (node === null || !grows) {
      return;
    }
    const size = () => `${node.scrollHeight} ${node.clientHeight}`;
    let known = size();
    let changed = 0;
    let acted = 0;
    const onScroll = () => {
      const now = performance.now();
      // During or just after a size change the browser scrolled, not the user.
      const settles = now - changed < SETTLE_MS && now - acted > SETTLE_MS;
      if (sticks.current && (settles || size() !== known)) {
        follow();
        return;
      }
      const left = node.scrollHeight - node.scrollTop - node.clientHeight;
      sticks.current = left <= NEAR;
      setAtEnd(sticks.current);
    };
    const follow = () => {
      const now = size();
      if (now !== known) {
        known = now;
        changed = performance.now();
      }
      if (sticks.current) {
        node.scrollTop = node.scrollHeight;
      }
    };
    const onAct = () => {
      acted = performance.now();
    };
    const onWheel = ({ deltaY }: WheelEvent) => {
      onAct();
      if (deltaY < 0 && node.scrollTop > 0) {
        sticks.current = false;
      }
    };
    const watch =
      'ResizeObserver' in window ? new ResizeObserver(follow) : null;
    watch?.observe(grows);
    watch?.observe(node);
    node.addEventListener('scroll', onScroll, { passive: true });
    node.addEventListener('wheel', onWheel, { passive: true });
    for (const act of ACTS) {
      node.addEventListener(act, onAct, { passive: true });
    }
    follow();
    return () => {
      watch?.disconnect();
      node.removeEventListener('scroll', onScroll);
      node.removeEventListener('wheel', onWheel);
      for (const act of ACTS) {
        node.removeEventListener(act, onAct);
      }
    };
  }, []);
  const toEnd = () => {
    sticks.current = true;
    place.current?.scrollTo({ top: place.current.scrollHeight });
    place.current?.focus();
  };
  const leaveEnd = useCallback(() => {
    sticks.current = false;
    setAtEnd(false);
  }, []);
  return { place, atEnd, toEnd, leaveEnd };
}

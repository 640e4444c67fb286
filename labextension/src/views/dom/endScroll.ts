/**
 * Keeps a long place at its end while it grows and while what is in it finds its height.
 *
 * A short place in which something is printed needs less: see tailScroll.
 */
import { useEffect, useRef, useState } from 'react';

/** So near to the end, in pixels, a person is taken to look at the newest. */
const NEAR = 40;

/** So long after its size changed, a browser may still move what is in it. */
const SETTLE_MS = 400;

/** How a person scrolls, beside the wheel. */
const ACTS = ['keydown', 'pointerdown', 'touchmove'] as const;

/**
 * Returns the place to scroll, whether its end is in view, and how to go there.
 *
 * It stays at its end unless a person looks at something above.
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
      // Where the sizes change or just changed, the browser moved it and no person did.
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
  return { place, atEnd, toEnd };
}

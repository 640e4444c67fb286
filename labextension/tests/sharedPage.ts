/**
 * Gives back what tests took of the page that all files share: after each test what it drew, and after each file
 * timers, globals, elements, storage.
 */
import { afterAll, afterEach, vi } from 'vitest';

/** A passing test waits for none of it. */
const LAST_RESORT_MS = 120_000;

// Files without a page have no document.
const page = typeof document === 'undefined' ? null : document.documentElement;

// jsdom starts its clock of frames when something waits for one. Started while a test holds the timers,
// it would stand still for all later files; so it is kept going from before the first.
if (page && page.dataset.frames === undefined) {
  page.dataset.frames = 'on';
  const onFrame = window.requestAnimationFrame.bind(window);
  const next = () => {
    onFrame(next);
  };
  next();
}

// A second, which it waits else, is too little beside the tests in browsers.
if (page) {
  const { cleanup, configure } = await import('@testing-library/react');
  configure({ asyncUtilTimeout: LAST_RESORT_MS });
  afterEach(cleanup);
}

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  if (page) {
    document.body.replaceChildren();
    localStorage.clear();
    sessionStorage.clear();
  }
});

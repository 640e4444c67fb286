/**
 * The inspector alone in a page, for pictures and for the bench: `window.inspect` draws a view, and `window.follow`
 * answers its next question with a patch.
 */
import { createRoot } from 'react-dom/client';
import type {
  TimelineView,
  TrackView,
  ViewPatch
} from '../../../src/protocol/generated';
import type { IInspectorPlace } from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { BROWSER_HOST } from '../../../src/widget/browserHost';
import { sampleSource } from '../sampleSource';
import '../../../style/base.css';
import '../../../style/panel.css';
import '../../../style/widget.css';
import '../../../style/inspector.css';
import '../../../style/forcedColors.css';

const NOTHING = { unchanged: false, milliseconds: 0, error: '' };
let coming: ViewPatch | null = null;
let changed: () => void = () => undefined;

function inspect(
  view: TimelineView,
  tracks: TrackView[],
  place: IInspectorPlace
): void {
  const source = sampleSource(view, tracks);
  const element = document.createElement('div');
  document.body.replaceChildren(element);
  createRoot(element).render(
    <HostProvider value={BROWSER_HOST}>
      <Inspector
        source={{
          ask: query => {
            const patch = coming;
            coming = null;
            return patch !== null && query.ask === 'view'
              ? Promise.resolve({ ...NOTHING, patch })
              : source.ask(query);
          },
          subscribe: told => {
            changed = told;
            return () => undefined;
          }
        }}
        place={place}
      />
    </HostProvider>
  );
}

function follow(patch: ViewPatch): void {
  coming = patch;
  changed();
}

Object.assign(window, { inspect, follow });

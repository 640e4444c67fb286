/** The inspector alone in a page, for pictures and for the bench; `window.inspect` draws a view. */
import { createRoot } from 'react-dom/client';
import type { TimelineView, TrackView } from '../../../src/protocol/generated';
import type { IInspectorPlace } from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { HOST } from '../../../src/widget/browserHost';
import { sampleSource } from '../sampleSource';
import '../../../style/base.css';
import '../../../style/panel.css';
import '../../../style/widget.css';
import '../../../style/inspector.css';
import '../../../style/forcedColors.css';

declare global {
  interface Window {
    inspect: (
      view: TimelineView,
      tracks: TrackView[],
      place: IInspectorPlace
    ) => void;
  }
}

window.inspect = (view, tracks, place) => {
  const element = document.createElement('div');
  document.body.replaceChildren(element);
  createRoot(element).render(
    <HostProvider value={HOST}>
      <Inspector source={sampleSource(view, tracks)} place={place} />
    </HostProvider>
  );
};

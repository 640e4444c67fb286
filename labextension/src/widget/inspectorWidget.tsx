/**
 * `session.inspect()`: the inspector as one module for anywidget.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { HostProvider } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import type { InspectorWidgetModel } from './anywidgetModel';
import { keepPlainKeys, leaveByEscape } from './cellKeys';
import { WORDS } from './hostParts';
import { CommSource } from './inspectorSource';
import { partsNamed, useHiddenParts, useKernelPlace } from './kernelPlace';
import { MountPoints } from './mountPoints';
import { PLAIN_TEXT_HOST } from './plainTextHost';
import { deferToExtensionStyles, INSPECTOR_SHEET } from './stylesheetOrder';
import { applyTheme } from './theme';

const SOURCES = new Map<string, CommSource>();

interface IInspectorWidgetProps {
  model: InspectorWidgetModel;
}

/** Draws the inspector in the widget's saved HTML in cells. */
function initialize({ model }: IInspectorWidgetProps): () => void {
  const source = sourceOf(model);
  const mountClass = `plm-inspect-${model.get('key')}`;
  const places = new MountPoints(mountClass, place =>
    draw(place, model, source)
  );
  return () => {
    places.dispose();
    source.dispose();
    SOURCES.delete(model.get('key'));
  };
}

/** Draws in the widget's own element, such as in a box of widgets. */
function render({
  model,
  el
}: IInspectorWidgetProps & { el: HTMLElement }): () => void {
  return draw(el, model, sourceOf(model));
}

export default { initialize, render };

function sourceOf(model: InspectorWidgetModel): CommSource {
  deferToExtensionStyles(document, INSPECTOR_SHEET);
  const key = model.get('key');
  const existing = SOURCES.get(key);
  if (existing !== undefined) {
    return existing;
  }
  const words = {
    waits: WORDS.__('The kernel is busy; it answers when its cell is done.'),
    ended: WORDS.__(
      'The kernel has ended, so it cannot answer; run the cell again.'
    )
  };
  const source = new CommSource(model, words, model.get('own'));
  SOURCES.set(key, source);
  return source;
}

function draw(
  place: HTMLElement,
  model: InspectorWidgetModel,
  source: CommSource
): () => void {
  const removeTheme = applyTheme(place);
  const root = createRoot(place);
  root.render(
    <HostProvider value={PLAIN_TEXT_HOST}>
      <InspectedCell model={model} source={source} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    removeTheme();
  };
}

function InspectedCell({
  model,
  source
}: IInspectorWidgetProps & { source: CommSource }) {
  const [place, setPlace] = useKernelPlace(model);
  const hidden = useHiddenParts(model);
  const [openedPrice] = useState(() => model.get('price'));
  const [parts] = useState(() => partsNamed(model.get('views')));
  const views = useRef<HTMLDivElement>(null);
  useEffect(
    () => (views.current === null ? undefined : keepPlainKeys(views.current)),
    []
  );
  return (
    <div className="plm-InspectedCell" ref={views} onKeyDown={leaveByEscape}>
      <Inspector
        source={source}
        place={place}
        onPlace={setPlace}
        openedPrice={openedPrice}
        parts={parts}
        hidden={hidden}
      />
    </div>
  );
}

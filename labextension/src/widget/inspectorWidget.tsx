/**
 * `session.inspect()`: the inspector as one module for anywidget.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { SessionComparison } from '../protocol/generated';
import { ComparisonQuestion } from '../state/inspector/comparisonQuestion';
import {
  NOWHERE,
  type ComparedSide,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
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

/** The sources of a cell: its session's, and that of the session beside it, where there is one. */
type CellSources = Readonly<Record<ComparedSide, CommSource>>;

const SOURCES = new Map<string, CellSources>();

interface IInspectorWidgetProps {
  model: InspectorWidgetModel;
}

/** Draws the inspector in the widget's saved HTML in cells. */
function initialize({ model }: IInspectorWidgetProps): () => void {
  const sources = sourcesOf(model);
  const mountClass = `plm-inspect-${model.get('key')}`;
  const places = new MountPoints(mountClass, container =>
    drawInspector(container, model, sources)
  );
  return () => {
    places.dispose();
    sources.first.dispose();
    sources.second.dispose();
    SOURCES.delete(model.get('key'));
  };
}

/** Draws in the widget's own element, such as in a box of widgets. */
function render({
  model,
  el
}: IInspectorWidgetProps & { el: HTMLElement }): () => void {
  return drawInspector(el, model, sourcesOf(model));
}

export default { initialize, render };

function sourcesOf(model: InspectorWidgetModel): CellSources {
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
  const sources = {
    first: new CommSource(model, words, model.get('own')),
    second: new CommSource(model, words, false, 'second')
  };
  SOURCES.set(key, sources);
  return sources;
}

function drawInspector(
  container: HTMLElement,
  model: InspectorWidgetModel,
  sources: CellSources
): () => void {
  const removeTheme = applyTheme(container);
  const root = createRoot(container);
  root.render(
    <HostProvider value={PLAIN_TEXT_HOST}>
      <InspectedCell model={model} sources={sources} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    removeTheme();
  };
}

function InspectedCell({
  model,
  sources
}: IInspectorWidgetProps & { sources: CellSources }) {
  const [place, setPlace] = useKernelPlace(model);
  const hidden = useHiddenParts(model);
  const [openedPrice] = useState(() => model.get('price'));
  const [parts] = useState(() => partsNamed(model.get('views')));
  const { beside = '' } = place;
  const side = place.side ?? 'first';
  const [hasOpenedSide, setOpenedSide] = useState(false);
  const { comparison, error } = useComparison(
    beside === '' ? null : sources.first,
    place.price ?? null
  );
  const views = useRef<HTMLDivElement>(null);
  useEffect(
    () => (views.current === null ? undefined : keepPlainKeys(views.current)),
    []
  );
  const showSide = (shown: ComparedSide, at: IInspectorPlace) => {
    setPlace({
      ...at,
      beside: beside === '' ? undefined : beside,
      side: shown === 'second' ? shown : undefined
    });
  };
  const compared: IComparedView | null =
    comparison === null
      ? null
      : {
          comparison,
          besideName: beside,
          side,
          takesFocus: hasOpenedSide,
          open: (to, at) => {
            setOpenedSide(true);
            showSide(to, { ...NOWHERE, ...at });
          }
        };
  return (
    <div className="plm-InspectedCell" ref={views} onKeyDown={leaveByEscape}>
      <Inspector
        key={side}
        source={sources[side]}
        place={place}
        onPlace={next => {
          showSide(side, next);
        }}
        openedPrice={openedPrice}
        parts={parts}
        hidden={hidden}
        {...(compared === null ? {} : { compared })}
        {...(error === '' ? {} : { remark: error })}
      />
    </div>
  );
}

/** Returns how a cell's session compares with the one beside it; nothing where it is shown alone. */
function useComparison(
  source: CommSource | null,
  price: string | null
): { comparison: SessionComparison | null; error: string } {
  const [state, setState] = useState<{
    comparison: SessionComparison | null;
    error: string;
  }>({ comparison: null, error: '' });
  useEffect(() => {
    if (source === null) {
      return undefined;
    }
    // The kernel knows which session stands beside.
    const question = new ComparisonQuestion(
      source,
      () => ({ session: '' }),
      ({ comparison, error }) => {
        setState(before => ({
          comparison: comparison ?? before.comparison,
          error
        }));
      }
    );
    if (price === null) {
      question.askAnew();
    } else {
      question.setPrice(price);
    }
    const unsubscribe = source.subscribe(question.askAnew);
    return () => {
      unsubscribe();
      question.dispose();
    };
  }, [source, price]);
  return state;
}

/**
 * `session.inspect()`: the inspector as one module for anywidget.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useState } from 'react';
import type { SessionComparison } from '../protocol/generated';
import { ComparisonQuestion } from '../state/inspector/comparisonQuestion';
import {
  NOWHERE,
  type ComparedSide,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import type { InspectorWidgetModel } from './anywidgetModel';
import { keepPlainKeys, leaveByEscape } from './cellKeys';
import { PLAIN_TEXT_HOST, WORDS } from './hostParts';
import { CommSource } from './inspectorSource';
import { partsNamed, useHiddenParts, useKernelPlace } from './kernelPlace';
import { INSPECTOR_SHEET } from './stylesheetOrder';
import { widgetModule } from './widgetModule';

/** The sources of a cell: its session's, and that of the session beside it, where there is one. */
type CellSources = Readonly<Record<ComparedSide, CommSource>>;

export default widgetModule({
  sheet: INSPECTOR_SHEET,
  savedClass: 'plm-inspect',
  host: PLAIN_TEXT_HOST,
  createSource: createSources,
  draw: (model, sources) => <InspectedCell model={model} sources={sources} />
});

function createSources(
  model: InspectorWidgetModel
): CellSources & { dispose(): void } {
  const words = {
    waits: WORDS.__('The kernel is busy; it answers when its cell is done.'),
    ended: WORDS.__(
      'The kernel has ended, so it cannot answer; run the cell again.'
    )
  };
  const first = new CommSource(model, words, model.get('own'));
  const second = new CommSource(model, words, false, 'second');
  return {
    first,
    second,
    dispose: () => {
      first.dispose();
      second.dispose();
    }
  };
}

function InspectedCell({
  model,
  sources
}: {
  model: InspectorWidgetModel;
  sources: CellSources;
}) {
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

interface IComparisonState {
  comparison: SessionComparison | null;
  error: string;
}

/** Returns how a cell's session compares with the one beside it; nothing where it is shown alone. */
function useComparison(
  source: CommSource | null,
  price: string | null
): IComparisonState {
  const [state, setState] = useState<IComparisonState>({
    comparison: null,
    error: ''
  });
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

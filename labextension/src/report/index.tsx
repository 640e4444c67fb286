/**
 * `session.report()`: the inspector alone on a page, over data that is inside it.
 *
 * The link after `#` keeps the place, so that a page can be handed on at a request.
 */
import { useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import {
  NOWHERE,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
import { HostProvider, type IHost } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import { PLAIN_TEXT_HOST, WORDS } from '../widget/hostParts';
import { applyTheme } from '../widget/theme';
import { useAddressPlace } from './addressPlace';
import { usePrinting } from './printing';
import {
  readComparedReport,
  readReport,
  type IComparedReport,
  type IReportData
} from './reportData';
import { ReportSource } from './reportSource';

const { copy } = PLAIN_TEXT_HOST;
/** The host of a report, which copies a link as the address of the file at a place. */
const REPORT_HOST: IHost = {
  ...PLAIN_TEXT_HOST,
  ...(copy === undefined
    ? {}
    : {
        copy: (link: string) => copy(new URL(`#${link}`, location.href).href)
      })
};

drawReport();

function drawReport(): void {
  const container = document.getElementById('inspector');
  const savedHtml = document.getElementById('saved');
  const packedData: unknown = Reflect.get(globalThis, 'palimpsestReport');
  const data = readReport(packedData);
  if (container === null || data === null) {
    return;
  }
  applyTheme(container);
  container.hidden = false;
  if (savedHtml !== null) {
    savedHtml.hidden = true;
  }
  createRoot(container).render(
    <HostProvider value={REPORT_HOST}>
      <Report
        data={data}
        comparedReport={readComparedReport(packedData)}
        container={container}
      />
    </HostProvider>
  );
}

const COMPARED_PLACE: IInspectorPlace = { ...NOWHERE, tab: 'compared' };

function Report({
  data,
  comparedReport,
  container
}: {
  data: IReportData;
  comparedReport: IComparedReport | null;
  container: HTMLElement;
}) {
  const isPrinted = usePrinting(container);
  const firstId = data.view.session;
  const secondId = comparedReport?.second.view.session ?? null;
  const sources = useMemo(
    () => ({
      first: new ReportSource(data, WORDS),
      second: new ReportSource(comparedReport?.second ?? data, WORDS)
    }),
    [data, comparedReport]
  );
  const sessions = useMemo(
    () => (secondId === null ? [firstId] : [firstId, secondId]),
    [firstId, secondId]
  );
  // A report of two sessions begins with both.
  const openingPlace = secondId === null ? NOWHERE : COMPARED_PLACE;
  const { index, place, remark, isOpened, setPlace } = useAddressPlace(
    sessions,
    openingPlace,
    WORDS
  );
  const side = index === 1 ? 'second' : 'first';
  const compared: IComparedView | null =
    comparedReport === null
      ? null
      : {
          comparison: comparedReport.comparison,
          side,
          takesFocus: isOpened,
          open: (openedSide, openedPlace) => {
            setPlace(
              openedSide === 'second' ? 1 : 0,
              { ...NOWHERE, ...openedPlace },
              true
            );
          }
        };
  return (
    <Inspector
      key={side}
      source={sources[side]}
      place={place}
      remark={remark}
      isPrinted={isPrinted}
      isSteppedByPage
      onPlace={(nextPlace, isStep) => {
        setPlace(index, nextPlace, isStep);
      }}
      {...(compared === null ? {} : { compared })}
    />
  );
}

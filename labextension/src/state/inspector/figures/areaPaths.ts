/** SVG paths of stacked areas and stepped lines over requests. */
import type { IKindSeries } from './kindSeries';

interface IPlotShape {
  readonly width: number;
  readonly height: number;
  /** The value at the top. */
  readonly maxValue: number;
}

/** Returns, for each drawn column, the request with the largest window among those that share it. */
function drawnRequests(totals: ArrayLike<number>, width: number): Int32Array {
  const requestCount = totals.length;
  const columnCount = Math.min(requestCount, Math.max(Math.floor(width), 1));
  const requestOfColumn = new Int32Array(columnCount);
  for (let column = 0; column < columnCount; column++) {
    const firstRequest = Math.floor((column * requestCount) / columnCount);
    const endRequest = Math.floor(((column + 1) * requestCount) / columnCount);
    let largestRequest = firstRequest;
    for (let request = firstRequest + 1; request < endRequest; request++) {
      if ((totals[request] ?? 0) > (totals[largestRequest] ?? 0)) {
        largestRequest = request;
      }
    }
    requestOfColumn[column] = largestRequest;
  }
  return requestOfColumn;
}

/** Returns the areas, the topmost first: each reaches from the axis up, so that no gap shows between two. */
export function areaPaths(
  series: IKindSeries,
  shape: IPlotShape
): { name: string; path: string }[] {
  const { width, height, maxValue } = shape;
  const requestOfColumn = drawnRequests(series.totals, width);
  const sums = new Float64Array(requestOfColumn.length);
  const columnWidth = width / Math.max(requestOfColumn.length, 1);
  const lineToColumn = Array.from(
    requestOfColumn,
    (_, column) => `H${roundToTenth(column * columnWidth)}`
  );
  const heightOfToken = height / maxValue;
  const paths = series.names.map((name, layer) => {
    const values = series.layers[layer];
    const pieces = [`M0 ${height}`];
    let lastY = -1;
    for (let column = 0; column < requestOfColumn.length; column++) {
      const sum =
        (sums[column] ?? 0) + (values?.[requestOfColumn[column] ?? 0] ?? 0);
      sums[column] = sum;
      const y = roundToTenth(height - sum * heightOfToken);
      // A run of equal heights is one line.
      if (y !== lastY) {
        if (column > 0) {
          pieces.push(lineToColumn[column] ?? '');
        }
        pieces.push(`V${y}`);
        lastY = y;
      }
    }
    pieces.push(`H${width}V${height}Z`);
    return { name, path: pieces.join('') };
  });
  return paths.reverse();
}

/** Returns a stepped line through the known values; it stops where one is not known. */
export function linePath(
  values: ArrayLike<number | null>,
  { width, height, maxValue }: IPlotShape
): string {
  const requestWidth = width / Math.max(values.length, 1);
  const pieces: string[] = [];
  let lastY: number | null = null;
  for (let request = 0; request < values.length; request++) {
    const value = values[request] ?? null;
    const y =
      value === null
        ? null
        : roundToTenth(
            height - (Math.min(value, maxValue * 1.05) / maxValue) * height
          );
    if (y !== lastY) {
      const x = roundToTenth(request * requestWidth);
      if (lastY !== null) {
        pieces.push(`H${x}`);
      }
      if (y !== null) {
        pieces.push(lastY === null ? `M${x} ${y}` : `V${y}`);
      }
    }
    lastY = y;
  }
  if (lastY !== null) {
    pieces.push(`H${width}`);
  }
  return pieces.join('');
}

/** Rounds to a tenth of a pixel. */
export function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Returns round numbers for the lines behind a picture, at most five. */
export function axisTicks(maxValue: number): number[] {
  const roughStep = maxValue / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(roughStep, 1e-9)));
  const step =
    [1, 2, 2.5, 5, 10]
      .map(tick => tick * power)
      .find(tick => tick >= roughStep) ?? roughStep;
  const ticks: number[] = [];
  for (let tick = step; tick <= maxValue * 0.98; tick += step) {
    ticks.push(tick);
  }
  return ticks;
}

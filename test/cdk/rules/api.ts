import { describe, expect, test } from "@jest/globals";
import { INSTALLATIONS, installation, ofType, only, property, templateOf } from "../support.ts";

interface Method {
  readonly HttpMethod: string;
  readonly ResourceId: unknown;
  readonly Integration: {
    readonly ResponseTransferMode?: string;
    readonly TimeoutInMillis?: number;
    readonly Uri: unknown;
  };
}

describe.each(Object.keys(INSTALLATIONS))("the API of an installation: %s", (name) => {
  const template = installation(name);
  const methods = ofType(template, "AWS::ApiGateway::Method").map(
    ([, method]) => method.Properties as unknown as Method,
  );

  test("is regional, takes bodies as they are, and has a throttle", () => {
    expect(only(template, "AWS::ApiGateway::RestApi").Properties).toMatchObject({
      EndpointConfiguration: { Types: ["REGIONAL"] },
      BinaryMediaTypes: ["*/*"],
      // TLS 1.2 at least.
      SecurityPolicy: "SecurityPolicy_TLS13_1_2_2021_06",
      EndpointAccessMode: "STRICT",
    });
    expect(only(template, "AWS::ApiGateway::Stage").Properties).toMatchObject({
      StageName: "v1",
      MethodSettings: [
        expect.objectContaining({
          HttpMethod: "*",
          ResourcePath: "/*",
          ThrottlingRateLimit: expect.any(Number),
          ThrottlingBurstLimit: expect.any(Number),
        }),
      ],
    });
  });

  test("the log of a run is streamed by a function of its own; everything else goes to one", () => {
    const [streamed, ...more] = methods.filter(({ HttpMethod }) => HttpMethod === "GET");
    expect(more).toEqual([]);
    expect(streamed?.Integration).toMatchObject({ ResponseTransferMode: "STREAM", TimeoutInMillis: 60_000 });
    expect(JSON.stringify(streamed?.Integration.Uri)).toContain("events");
    const whole = methods.filter(({ HttpMethod }) => HttpMethod === "ANY");
    expect(whole).toHaveLength(6);
    for (const { Integration } of whole) expect(JSON.stringify(Integration.Uri)).toContain("TorenApiapi");
    expect(only(template, "AWS::Lambda::Function", "events").Properties).toMatchObject({
      MemorySize: 256,
      Timeout: 60,
    });
  });
});

test("profile production logs requests and errors, in groups that forget", () => {
  const template = installation("production");
  const stage = only(template, "AWS::ApiGateway::Stage");
  expect(property<object>(stage, "AccessLogSetting")).toBeDefined();
  expect(only(template, "AWS::Logs::LogGroup", "ErrorLogs").Properties).toMatchObject({
    LogGroupName: { "Fn::Join": ["", ["API-Gateway-Execution-Logs_", expect.anything(), "/v1"]] },
    RetentionInDays: 90,
  });
  expect(stage.DependsOn).toContain(
    ofType(template, "AWS::Logs::LogGroup").find(([id]) => id.includes("ErrorLogs"))?.[0],
  );
  expect(ofType(installation("as it comes"), "AWS::ApiGateway::Account")).toEqual([]);
});

test("options of the stage reach it", () => {
  const template = templateOf({ stageName: "live", requestsPerSecond: "7", burst: "9", accessLogs: "true" });
  expect(only(template, "AWS::ApiGateway::Stage").Properties).toMatchObject({
    StageName: "live",
    MethodSettings: [expect.objectContaining({ ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 })],
  });
});

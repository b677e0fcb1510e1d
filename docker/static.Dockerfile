# The image of a release, of its static program: nothing else is in it, so there is nothing else to keep up to date.
#
#   docker/packages/release.sh target/release-0.1.0
#   docker build -f docker/static.Dockerfile -t countersink:0.1.0 target/release-0.1.0/image
#
# It is used as the image of docker/Dockerfile is, which builds the program itself.
FROM scratch
LABEL org.opencontainers.image.title="Countersink" \
      org.opencontainers.image.description="A MySQL proxy that makes hot counter rows fast without changing the application" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# /usr/local/bin/countersink, its licences, and an empty /tmp.
COPY . /

# By number, so that whoever runs it can see that it is not root without looking into the image.
USER 10001:10001
ENV PATH=/usr/local/bin
EXPOSE 6033 6034
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["countersink", "health", "--rules", "/etc/countersink/rules.yaml"]
ENTRYPOINT ["countersink"]
CMD ["serve", "--rules", "/etc/countersink/rules.yaml"]
